// Tests that are easier in C++: the hot loops of every instruction set, drift over a million moves, sanitizer fodder.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "hedgerow/counting.hpp"
#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/kernels/slice.hpp"
#include "hedgerow/kernels/split_merge.hpp"
#include "hedgerow/kernels/tree_guided.hpp"
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/likelihoods/multinomial.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

using namespace hedgerow;

int statistics_tests();  // statistics.cpp
int states_tests();      // states.cpp

static int failures = 0;

static void expect(bool ok, const char* what, double value) {
  std::printf("%s  %s (%.3g)\n", ok ? "ok  " : "FAIL", what, value);
  failures += !ok;
}

static std::vector<double> normals(Rng& rng, int n, double scale) {
  std::vector<double> x(n);
  for (double& v : x) v = scale * rng.normal();
  return x;
}

static GaussianWishart gaussian(Rng& rng, int n, int d) {
  std::vector<double> x = normals(rng, n * d, 3.0), mean(d, 0.0), psi(d * d, 0.0);
  for (int i = 0; i < d; ++i) psi[i * d + i] = 1.0;
  return GaussianWishart(x.data(), n, d, mean.data(), 0.1, d + 6.0, psi.data());
}

// The sums of lnΓ that rows of counts are scored with, whatever the width of the counts and the number of factors multiplied.
static void rising_counts(const Simd& loops, Rng& rng) {
  constexpr int kColumns = 50, kCells = 40;
  std::vector<std::uint16_t> small(kColumns * kTile);
  for (auto& n : small) n = static_cast<std::uint16_t>(rng.index(4) ? rng.index(5) : rng.index(60000));
  const std::vector<std::int32_t> large(small.begin(), small.end());
  std::vector<std::int32_t> cells;
  double tokens = 0.0;
  for (int w = 0; w < kCells; ++w) {
    cells.insert(cells.end(), {w, rng.index(8) ? 1 + rng.index(20) : 1 + rng.index(3000)});
    tokens += cells.back();
  }
  double worst = 0.0;
  for (const double beta : {0.1, 30.0})
    for (const int lanes : {8, 16, 24, 32})
      for (const double digits : {5.0, 18.0}) {
        std::vector<double> a(kTile, 0.0), b(kTile, 0.0), mass(kTile);
        loops.rise_small(small.data(), cells.data(), kCells, lanes, beta, digits, 1.0, a.data());
        loops.rise_large(large.data(), cells.data(), kCells, lanes, beta, digits, 1.0, b.data());
        for (int j = 0; j < lanes; ++j) {
          mass[j] = beta * (1 + j);
          double sum = 0.0;
          for (int i = 0; i < kCells; ++i) sum += log_rising(beta + large[cells[2 * i] * kTile + j], cells[2 * i + 1]);
          worst = std::max({worst, std::abs(a[j] - sum) / std::abs(sum), std::abs(a[j] - b[j])});
        }
        for (const double count : {0.0, 1.0, 16.0, 17.0, tokens}) {
          std::fill(a.begin(), a.end(), 0.0);
          loops.subtract_rising(mass.data(), lanes, count, 2.0, a.data());
          for (int j = 0; j < lanes; ++j) {
            const double right = 2.0 - log_rising(mass[j], count);
            worst = std::max(worst, std::abs(a[j] - right) / (1.0 + std::abs(right)));
          }
        }
      }
  expect(worst < 1e-13, "sums of rising factorials", worst);
}

// Every instruction set computes what plain code computes.
static void instruction_sets() {
  Rng rng(1);
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const Simd* loops = simd_named(name);
    if (!loops) continue;
    std::vector<double> x = normals(rng, 40, 100.0), y = x;
    const double total = loops->softmax(y.data(), 37);
    double top = -kInf, sum = 0.0, worst = 0.0;
    for (int i = 0; i < 37; ++i) top = std::max(top, x[i]);
    for (int i = 0; i < 37; ++i) {
      const double e = x[i] - top < -700.0 ? 0.0 : std::exp(x[i] - top);
      sum += e;
      worst = std::max(worst, std::abs(y[i] - e) / (e + 1e-300));
    }
    expect(worst < 1e-13 && std::abs(total - sum) < 1e-13 * sum, "softmax against libm", worst);
    rising_counts(*loops, rng);
  }
}

static void log_gamma() {
  double worst = 0.0;
  for (double x = 1e-3; x < 1e9; x *= 1.37) {
    const double reference = std::lgamma(x);
    worst = std::max(worst, std::abs(hedgerow::lgamma(x) - reference) / (1.0 + std::abs(reference)));
  }
  expect(worst < 1e-14, "log gamma against libm", worst);
}

// A million moves of random rows between a few clusters: what is kept by rank-one updates against a fresh build.
static void drift(int moves) {
  Rng rng(2);
  const int n = 600, d = 6, k = 7;
  GaussianWishart likelihood = gaussian(rng, n, d);
  auto kept = likelihood.statistics(Layout::clusters);
  kept->reserve(k);
  std::vector<int> label(n);
  for (int i = 0; i < n; ++i) kept->add(label[i] = rng.index(k), i);
  bool rebuilt = false;
  for (int m = 0; m < moves; ++m) {
    const int row = rng.index(n), to = rng.index(k);
    rebuilt = !kept->remove(label[row], row) || rebuilt;
    kept->add(label[row] = to, row);
  }
  auto fresh = likelihood.statistics(Layout::clusters);
  fresh->reserve(k);
  for (int i = 0; i < n; ++i) fresh->add(label[i], i);
  double worst = 0.0;
  for (int c = 0; c < k; ++c) worst = std::max(worst, std::abs(kept->log_marginal(c) - fresh->log_marginal(c)));
  for (int i = 0; i < n; ++i) {
    double a[8], b[8];
    kept->log_predictive_front(i, k, a);
    fresh->log_predictive_front(i, k, b);
    for (int c = 0; c < k; ++c) worst = std::max(worst, std::abs(a[c] - b[c]));
  }
  expect(worst < 1e-8 && !rebuilt, "drift of log densities over the moves", worst);
}

// Short runs of every kernel over every likelihood, for the sanitizers to watch.
static void exercise(const Likelihood& likelihood, const Prior& prior, const char* what) {
  const int n = likelihood.rows();
  std::vector<int> left(2 * n - 1, -1), right(2 * n - 1, -1);
  for (int i = 1, top = 0; i < n; ++i) {
    left[n + i - 1] = top;
    right[n + i - 1] = i;
    top = n + i - 1;
  }
  TreeGuided::Guides guides{std::make_shared<const WeightedGuide>(WeightedGuide{Guide(left, right), {}})};
  double log_joint = 0.0;
  for (int which = 0; which < 4; ++which) {
    std::unique_ptr<Kernel> kernel;
    if (which == 0) kernel = std::make_unique<Gibbs>();
    if (which == 1) kernel = std::make_unique<SplitMerge>(3, 0);
    if (which == 2) kernel = std::make_unique<TreeGuided>(guides, 0, 10, TreeGuided::kTuned, true, 1.0);
    if (which == 3) kernel = std::make_unique<Slice>();
    Chain chain(std::shared_ptr<const Likelihood>(&likelihood, [](const Likelihood*) {}), prior, std::move(kernel),
                std::vector<int>(n, 0), {}, 5, which);
    for (int i = 0; i < 30; ++i) chain.step();
    log_joint += chain.log_joint();
  }
  expect(std::isfinite(log_joint), what, log_joint);
}

static void kernels() {
  Rng rng(3);
  const int n = 60;
  GaussianWishart gw = gaussian(rng, n, 3);
  std::vector<double> x = normals(rng, n * 3, 2.0), mean(3, 0.0), one(3, 1.0), shape{1.0, 2.0, 3.0};
  x[5] = x[17] = std::nan("");
  GaussianDiagonal gd(x.data(), n, 3, mean.data(), one.data(), shape.data(), one.data());
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
  Multinomial mn(indptr.data(), indices.data(), counts.data(), n, 20, 0.5);
  Prior prior;
  prior.kind = PriorKind::nrm;
  prior.sigma = 0.3;
  prior.alpha_law = Law{1.0, 1.0};
  prior.sigma_law = Law{1.0, 2.0};
  exercise(gw, prior, "kernels on GaussianWishart");
  exercise(gd, prior, "kernels on GaussianDiagonal");
  exercise(mn, prior, "kernels on Multinomial");
}

int main() {
  instruction_sets();
  log_gamma();
  drift(1000000);
  kernels();
  failures += statistics_tests();
  failures += states_tests();
  std::printf("%d failed\n", failures);
  return failures != 0;
}
