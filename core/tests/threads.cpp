// Every kernel over every likelihood, and in several threads whatever threads share: for the sanitizers to watch, and to give the answers
// of one thread. ThreadSanitizer watches those whose names begin with "in threads:".
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "hedgerow/grown_guide.hpp"
#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/kernels/slice.hpp"
#include "hedgerow/kernels/split_merge.hpp"
#include "hedgerow/kernels/tree_guided.hpp"
#include "hedgerow/imputation.hpp"
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/likelihoods/multinomial.hpp"
#include "hedgerow/narrow_labels.hpp"
#include "hedgerow/predictive.hpp"
#include "hedgerow/smc.hpp"
#include "hedgerow/special.hpp"
#include "larger.hpp"
#include "priors.hpp"
#include "rows.hpp"
#include "testing.hpp"

using namespace hedgerow;

// The log joints of a short run of every kernel.
static double exercise(const Likelihood& likelihood, const Prior& prior) {
  const int n = likelihood.rows();
  std::vector<int> left(2 * n - 1, -1), right(2 * n - 1, -1);
  for (int i = 1, top = 0; i < n; ++i) {
    left[n + i - 1] = top;
    right[n + i - 1] = i;
    top = n + i - 1;
  }
  Guides guides{std::make_shared<const WeightedGuide>(WeightedGuide{Guide(left, right), {}})};
  double log_joint = 0.0;
  for (int which = 0; which < 4; ++which) {
    std::unique_ptr<Kernel> kernel;
    if (which == 0) kernel = std::make_unique<Gibbs>();
    if (which == 1) kernel = std::make_unique<SplitMerge>(3, 0);
    if (which == 2) kernel = TreeGuided::annealed(guides, {}, 10, TreeGuided::kTuned, 0.5, 1.0);
    if (which == 3) kernel = std::make_unique<Slice>();
    Chain chain(std::shared_ptr<const Likelihood>(&likelihood, [](const Likelihood*) {}), prior, std::move(kernel),
                std::vector<int>(n, 0), {}, 5, which);
    for (int i = 0; i < 30; ++i) chain.step();
    log_joint += chain.log_joint();
  }
  return log_joint;
}

static std::vector<std::shared_ptr<const Likelihood>> families(int n) {
  Rng rng(3);
  auto gw = std::make_shared<GaussianWishart>(gaussian(rng, n, 3));
  std::vector<double> x = normals(rng, n * 3, 2.0), mean(3, 0.0), one(3, 1.0), shape{1.0, 2.0, 3.0};
  x[5] = x[17] = std::nan("");
  auto gd = std::make_shared<GaussianDiagonal>(x.data(), n, 3, mean.data(), one.data(), shape.data(), one.data());
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<double> counts;
  for (int i = 0; i < n; ++i) {
    for (int w = 0; w < 20; ++w)
      if (rng.uniform() < 0.3) {
        indices.push_back(w);
        counts.push_back(1.0 + rng.index(30));
      }
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  return {gw, gd, std::make_shared<Multinomial>(indptr.data(), indices.data(), counts.data(), n, 20, 0.5)};
}

TEST_CASE("every kernel over every likelihood") {
  for (const auto& family : families(60)) CHECK(std::isfinite(exercise(*family, sampled_prior())));
}

// Chains share their rows, their guides and the choice of instructions, and nothing else: for ThreadSanitizer to watch.
TEST_CASE("in threads: chains") {
  for (const auto& family : families(60)) {
    const double alone = exercise(*family, sampled_prior());
    std::vector<double> found(4), evidence(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        found[i] = exercise(*family, sampled_prior());
        evidence[i] = smc(*family, sampled_prior(), {}, 4, 0.5, 1, 2, true).log_evidence;
      });
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i < 4; ++i) {
      CHECK(found[i] == alone);
      CHECK(evidence[i] == evidence[0]);
    }
  }
}

// A measure of more basis measures than lie side by side, so that its panel remembers what it was asked for last.
static Prior mixed_prior(int groups, int bases) {
  Prior prior = sampled_prior();
  prior.groups = groups;
  prior.bases = bases;
  Rng rng(8);
  for (int i = 0; i < groups * bases; ++i) prior.q.push_back(0.05 + rng.uniform());
  return prior;
}

// One draw over the first rows, fillings of missing entries and all.
struct Draw {
  std::shared_ptr<const Likelihood> own;
  std::unique_ptr<State> state;
};

static Draw draw_over(const std::shared_ptr<const Likelihood>& likelihood, const Prior& prior, int rows) {
  Draw draw{with_own_imputations(likelihood), nullptr};
  std::vector<int> labels(rows), groups;
  for (int i = 0; i < rows; ++i) labels[i] = i == 7 ? 4 : i % 4;  // row 7 is alone
  for (int i = 0; prior.groups > 1 && i < likelihood->rows(); ++i) groups.push_back(i % prior.groups);
  draw.state = std::make_unique<State>(*draw.own, prior, groups, Rng(6));
  impute_given_labels(*draw.state, labels, 3);
  draw.state->partition.assign(labels);
  return draw;
}

// What is asked of new rows, all in one list: weights, densities over two draws, and company.
static std::vector<double> foretold(const std::shared_ptr<const Likelihood>& likelihood, const Prior& prior, int threads) {
  const int old = likelihood->rows() - 20;
  const Draw draw = draw_over(likelihood, prior, old);
  Foresight sight(*draw.state, old, threads);
  const int n = sight.rows(), k = sight.clusters();
  std::vector<int> groups;
  for (int i = 0; prior.groups > 1 && i < n; ++i) groups.push_back((3 * i) % prior.groups);
  std::vector<double> weights(static_cast<std::size_t>(n) * (k + 1)), density(n, -kInf);
  sight.weights(groups, weights.data());
  for (int twice = 0; twice < 2; ++twice) sight.add_density(groups, density.data());
  std::vector<std::int32_t> start, cluster;
  std::vector<double> share(k, 0.5), top(n, -kInf), with(2 * static_cast<std::size_t>(n)), alone(n), all(n);
  for (int c = 0; c <= k; ++c) start.push_back(c);
  for (int c = 0; c < k; ++c) cluster.push_back(c % 2);
  sight.add_company(groups, {start.data(), cluster.data(), share.data(), 2}, {top.data(), with.data(), alone.data(), all.data()});
  double worst = 0.0;
  for (int i = 0; i < n; ++i) {
    const double* row = weights.data() + static_cast<std::size_t>(i) * (k + 1);
    double once = 0.0, sides[2] = {};
    for (int c = 0; c <= k; ++c) once += std::exp(row[c]);
    for (int c = 0; c < k; ++c) sides[c % 2] += 0.5 * std::exp(row[c]);
    const double scale = std::exp(top[i]);
    worst = larger(worst, std::abs(density[i] - std::log(2.0 * once)), std::abs(all[i] * scale / once - 1.0));
    worst = larger(worst, std::abs(alone[i] * scale - std::exp(row[k])) / once);
    for (int s : {0, 1}) worst = larger(worst, std::abs(with[2 * i + s] * scale - sides[s]) / once);
  }
  CHECK_MESSAGE(worst < 1e-12, worst);
  for (const auto* part : {&density, &top, &with, &alone, &all}) weights.insert(weights.end(), part->begin(), part->end());
  return weights;
}

static std::vector<double> left_out_of(const std::shared_ptr<const Likelihood>& likelihood, const Prior& prior, int threads) {
  const Draw draw = draw_over(likelihood, prior, likelihood->rows());
  std::vector<double> out(likelihood->rows());
  left_out(*draw.state, threads, out.data());
  return out;
}

// Likelihoods of all kinds, one of them with entries that are filled in.
static std::vector<std::shared_ptr<const Likelihood>> families_and_gaps(int n) {
  auto all = families(n);
  std::vector<double> x(3 * static_cast<std::size_t>(n)), mean(3, 0.0), psi{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  Rng rng(4);
  for (double& v : x) v = rng.uniform() < 0.1 ? std::nan("") : rng.normal();
  all.push_back(std::make_shared<GaussianWishart>(x.data(), n, 3, mean.data(), 0.1, 9.0, psi.data()));
  return all;
}

TEST_CASE("in threads: rows new and left out") {
  for (const auto& family : families_and_gaps(60))
    for (const Prior& prior : {sampled_prior(), mixed_prior(5, 4), mixed_prior(20, 20), mixed_prior(20, 80)}) {
      CHECK(foretold(family, prior, 1) == foretold(family, prior, 4));
      CHECK(left_out_of(family, prior, 1) == left_out_of(family, prior, 4));
    }
}

TEST_CASE("a row left out is as one that was never there") {
  for (const auto& family : families_and_gaps(30))
    for (const Prior& prior : {sampled_prior(), mixed_prior(5, 4), mixed_prior(20, 20)}) {
      const std::vector<double> found = left_out_of(family, prior, 1);
      const Draw draw = draw_over(family, prior, 30);
      Partition& partition = draw.state->partition;
      std::vector<char> gaps(30, 0);
      for (int row : draw.own->imputed_rows()) gaps[row] = 1;
      const std::vector<int> labels = partition.labels();
      double worst = 0.0;
      for (int i = 0; i < 30; ++i) {
        partition.assign(labels);
        partition.take_out(i);
        const int k = partition.clusters(), empty = partition.scratch(0);
        Statistics& statistics = partition.statistics();
        statistics.clear(empty);
        std::vector<double> weight(padded(k + 1), 0.0), density(padded(k + 1));
        NextPoint(draw.state->measure, partition.sizes(), partition.log_q(), false).add_to(partition.group(i), weight.data());
        statistics.log_predictive_front(i, k, density.data());
        density[k] = draw.own->log_single()[i];
        for (int c = 0; gaps[i] && c <= k; ++c) density[c] = statistics.log_observed(i, c < k ? c : empty);
        for (int c = 0; c <= k; ++c) density[c] += weight[c];
        worst = larger(worst, std::abs(log_sum(density.data(), k + 1) - log_sum(weight.data(), k + 1) - found[i]));
      }
      CHECK_MESSAGE(worst < 1e-9, worst);
    }
}

// Chains over the same rows share the guides they grow, and wait for one that another grows.
TEST_CASE("in threads: guides in common") {
  const auto run = [](const std::shared_ptr<const Likelihood>& likelihood, int which) {
    Chain chain(likelihood, sampled_prior(),
                TreeGuided::annealed({}, {3, 7, static_cast<std::uint64_t>(which)}, 10, TreeGuided::kTuned, 0.5, 1.0),
                std::vector<int>(likelihood->rows(), 0), {}, 5, which);
    for (int i = 0; i < 10; ++i) chain.warm_up(i / 10.0, 10);
    chain.end_warm_up();
    for (int i = 0; i < 10; ++i) chain.step();
    return chain.log_joint();
  };
  const auto alone = families(60), shared = families(60);
  for (std::size_t f = 0; f < shared.size(); ++f) {
    std::vector<double> found(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { found[i] = run(shared[f], i); });
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i < 4; ++i) CHECK(found[i] == run(alone[f], i));
  }
}

TEST_CASE("in threads: labels together") {
  constexpr int kDraws = 30, kPoints = 70;
  Rng rng(2);
  std::vector<std::uint8_t> labels(kDraws * kPoints);
  for (auto& label : labels) label = static_cast<std::uint8_t>(rng.index(5));
  std::vector<float> one(kPoints * kPoints), four(kPoints * kPoints);
  const NarrowLabels narrow{labels.data(), 1, kDraws, kPoints};
  together(narrow, 1, one.data());
  together(narrow, 4, four.data());
  CHECK(one == four);
}
