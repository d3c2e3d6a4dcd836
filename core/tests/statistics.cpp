// Every door of Statistics says the same: batched and single predictives, differences of marginals, merges, copies, files.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihoods/categorical.hpp"
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/likelihoods/multinomial.hpp"
#include "hedgerow/likelihoods/poisson.hpp"
#include "hedgerow/likelihoods/product.hpp"
#include "hedgerow/special.hpp"
#include "larger.hpp"
#include "testing.hpp"

using namespace hedgerow;

namespace {

using Make = std::function<std::shared_ptr<Likelihood>(int first, int n)>;  // rows first..first+n-1 of one data set

double difference(double a, double b) { return std::abs(a - b) / (1.0 + 1e-2 * std::abs(b)); }

// Slots filled by moves, merges, copies and loads against slots filled afresh.
double doors(const Likelihood& likelihood, Rng& rng) {
  const int n = likelihood.rows(), k = 5;
  auto kept = likelihood.statistics(Layout::clusters), fresh = likelihood.statistics(Layout::nodes);
  auto elsewhere = likelihood.statistics(Layout::nodes);
  kept->reserve(k + 1);
  fresh->reserve(k + 2);
  elsewhere->reserve(2);
  std::vector<int> label(n);
  for (int i = 0; i < n; ++i) kept->add(label[i] = rng.index(k), i);
  for (int m = 0; m < 5 * n; ++m) {
    const int row = rng.index(n), to = rng.index(k);
    if (!kept->remove(label[row], row)) {
      kept->clear(label[row]);
      for (int i = 0; i < n; ++i)
        if (i != row && label[i] == label[row]) kept->add(label[row], i);
    }
    kept->add(label[row] = to, row);
  }
  for (int i = 0; i < n; ++i) fresh->add(label[i], i);
  double worst = 0.0;
  AlignedVector<double> out(padded(k + 1));
  std::vector<int> others{0, 1, 2, 3};
  kept->log_marginal_merged(4, {others.data(), 4}, out.data());
  for (int c = 0; c < k; ++c) {
    worst = larger(worst, difference(kept->log_marginal(c), fresh->log_marginal(c)));
    if (c == 4) continue;
    fresh->copy(k, c);
    fresh->merge(k, 4);
    worst = larger(worst, difference(out[c], fresh->log_marginal(k)));
  }
  for (int i = 0; i < n; ++i) {
    kept->log_predictive_front(i, k, out.data());
    for (int c = 0; c < k; ++c) {
      if (c == label[i]) {
        worst = larger(worst, difference(kept->log_predictive_without(i, c), fresh->log_predictive_without(i, c)));
        continue;
      }
      worst = larger(worst, difference(out[c], fresh->log_predictive(i, c)));
      fresh->copy(k, c);
      fresh->add(k, i);
      worst = larger(worst, difference(out[c], fresh->log_marginal(k) - fresh->log_marginal(c)));
      worst = larger(worst, difference(out[c], fresh->log_predictive_without(i, k)));
    }
    kept->clear(k);
    worst = larger(worst, difference(likelihood.log_single()[i], kept->log_predictive(i, k)));
  }
  elsewhere->load(0, *kept, 2);
  std::vector<double> packed;
  kept->pack(3, packed);
  elsewhere->unpack(1, packed);
  worst = larger(worst, difference(elsewhere->log_marginal(0), kept->log_marginal(2)));
  worst = larger(worst, difference(elsewhere->log_marginal(1), kept->log_marginal(3)));
  bool refused = false;
  try {
    elsewhere->unpack(1, std::span(packed).first(packed.size() - 1));
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  return refused ? worst : kInf;
}

// Slots filled after a reset, and unions in which a side is one row, against slots filled one row after the other.
double unions(const Likelihood& likelihood) {
  const int n = likelihood.rows(), k = 10;
  auto batched = likelihood.statistics(Layout::clusters), plain = likelihood.statistics(Layout::nodes);
  batched->reset(k);
  plain->reserve(k + 1);
  for (int i = 0; i < n; ++i) {
    const int to = i < 3 ? i : 3 + i % (k - 3);  // three slots of one row
    batched->add(to, i);
    plain->add(to, i);
  }
  std::vector<int> others(k - 1);
  AlignedVector<double> out(padded(k));
  double worst = 0.0;
  for (int c = 0; c < k; ++c) {
    worst = larger(worst, difference(batched->log_marginal(c), plain->log_marginal(c)));
    for (int i = 0; i < k - 1; ++i) others[i] = i < c ? i : i + 1;
    for (int few : {1, 2, k - 1}) {
      batched->log_marginal_merged(c, {others.data(), static_cast<std::size_t>(few)}, out.data());
      for (int i = 0; i < few; ++i) {
        plain->copy(k, others[i]);
        plain->merge(k, c);
        worst = larger(worst, difference(out[i], plain->log_marginal(k)));
      }
    }
  }
  return worst;
}

// Rows taken in, at the end and in place of others, are as if they had been there from the start. What was read before must not linger:
// rows with gaps may follow rows without.
double taking(const Make& make, int n) {
  const int half = n / 2;
  auto whole = make(0, n), grown = make(0, half), rest = make(half, n - half), first = make(half, 1);
  auto statistics = grown->statistics(Layout::clusters), nodes = grown->statistics(Layout::nodes);
  statistics->reserve(2);
  nodes->reserve(2);
  for (int i = 1; i < half; ++i)
    for (auto* s : {&statistics, &nodes}) (*s)->add(i % 2, i);
  double out[8], expected[8];
  statistics->log_predictive_front(1, 2, out);
  std::vector<int> to(n - half);
  for (int i = 0; i < n - half; ++i) to[i] = half + i;
  grown->take(*rest, to.data());
  const int replaced = 0;
  grown->take(*first, &replaced);
  double worst = grown->rows() == n ? 0.0 : kInf;
  auto fresh = whole->statistics(Layout::clusters);
  fresh->reserve(2);
  for (int i = 1; i < half; ++i) fresh->add(i % 2, i);
  for (int c = 0; c < 2; ++c) worst = larger(worst, difference(statistics->log_marginal(c), fresh->log_marginal(c)));
  for (int i = half; i < n; ++i) {  // at first no slot has changed since it was read
    statistics->log_predictive_front(i, 2, out);
    for (int c = 0; c < 2; ++c) worst = larger(worst, difference(out[c], fresh->log_predictive(i, c)));
  }
  for (int i = half; i < n; ++i) {
    worst = larger(worst, difference(grown->log_single()[i], whole->log_single()[i]));
    statistics->log_predictive_front(i, 2, out);
    fresh->log_predictive_front(i, 2, expected);
    worst = larger(worst, difference(out[0], expected[0]), difference(out[1], expected[1]));
    for (auto* s : {&statistics, &nodes, &fresh}) (*s)->add(i % 2, i);
    worst = larger(worst, difference(nodes->log_marginal(i % 2), fresh->log_marginal(i % 2)));
  }
  statistics->add(0, 0);
  fresh->add(0, half);
  return larger(worst, difference(statistics->log_marginal(0), fresh->log_marginal(0)),
                difference(grown->log_single()[0], whole->log_single()[half]));
}

// The mean density of a row over atoms drawn for every step-th row is its predictive: the distance in standard errors.
double atoms(const Likelihood& likelihood, Rng& rng, int step, int row) {
  auto statistics = likelihood.statistics(Layout::clusters);
  statistics->reserve(1);
  for (int i = 1; i < likelihood.rows(); i += step) statistics->add(0, i);
  std::vector<double> atom(statistics->atom_size());
  double mean = 0.0, square = 0.0;
  const int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    statistics->draw_atom(0, rng, atom.data());
    const double ratio = std::exp(statistics->log_density(row, atom.data()) - statistics->log_predictive(row, 0));
    mean += ratio / draws;
    square += ratio * ratio / draws;
  }
  return std::abs(mean - 1.0) / std::sqrt((square - mean * mean) / draws + 1e-12);
}

struct Case {
  std::string name;
  Make make;
  bool heavy = false;  // densities over atoms too unlike for their mean to be estimated
};

std::vector<Case> cases(int n, Rng& rng) {
  const int d = 4;
  const std::vector<std::int32_t> levels{2, 3, 1, 6};
  std::vector<double> beta(12), a{0.3, 1.0, 1.0, 2.5}, b{0.1, 2.0, 0.5, 0.5}, mean(d, 0.0), half(d, 0.5);
  for (double& v : beta) v = 0.05 + rng.uniform();
  auto codes = std::make_shared<std::vector<std::int32_t>>(n * d);
  auto gaps = std::make_shared<std::vector<std::int32_t>>(n * d);
  auto small = std::make_shared<std::vector<double>>(n * d);
  auto large = std::make_shared<std::vector<double>>(n * d);
  auto real = std::make_shared<std::vector<double>>(n * d);
  auto holed = std::make_shared<std::vector<double>>(n * d);
  for (int i = 0; i < n * d; ++i) {
    (*codes)[i] = rng.index(levels[i % d]);
    const bool gap = i >= n * d / 2 && rng.uniform() < 0.3;  // none in the first half: gaps appear later
    (*gaps)[i] = gap ? -1 : (*codes)[i];
    (*small)[i] = std::floor(rng.gamma(0.5, 0.2));
    (*large)[i] = rng.uniform() < 0.2 ? std::nan("") : std::floor(rng.gamma(1.0, 1e-5));
    (*real)[i] = 1.5 + rng.normal();
    (*holed)[i] = gap ? std::nan("") : (*real)[i];
  }
  const auto at = [d](const auto& data, int first) { return data->data() + static_cast<std::size_t>(first) * d; };
  const Make plain = [=](int first, int m) {
    return std::make_shared<Categorical>(at(codes, first), m, d, levels.data(), beta.data());
  };
  const Make holes = [=](int first, int m) { return std::make_shared<Categorical>(at(gaps, first), m, d, levels.data(), beta.data()); };
  const Make few = [=](int first, int m) { return std::make_shared<Poisson>(at(small, first), m, d, a.data(), b.data()); };
  const Make many = [=](int first, int m) { return std::make_shared<Poisson>(at(large, first), m, d, a.data(), b.data()); };
  const Make product = [=](int first, int m) {
    auto diagonal = std::make_shared<GaussianDiagonal>(at(real, first), m, d, mean.data(), half.data(), a.data(), b.data());
    return std::make_shared<Product>(std::vector<std::shared_ptr<Likelihood>>{holes(first, m), few(first, m), diagonal});
  };
  // Equal shapes and nothing missing: the columns share their logarithms.
  const Make even = [=](int first, int m) {
    return std::make_shared<GaussianDiagonal>(at(real, first), m, d, mean.data(), half.data(), half.data(), b.data());
  };
  const Make no_longer_even = [=](int first, int m) {
    return std::make_shared<GaussianDiagonal>(at(holed, first), m, d, mean.data(), half.data(), half.data(), b.data());
  };
  // Rows of small counts, as one sparse row after another.
  const Make words = [=](int first, int m) {
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> column;
    std::vector<double> count;
    for (int i = first; i < first + m; ++i) {
      for (int j = 0; j < d; ++j)
        if (const double c = (*small)[static_cast<std::size_t>(i) * d + j]; c > 0.0) {
          column.push_back(j);
          count.push_back(c);
        }
      start.push_back(static_cast<std::int64_t>(column.size()));
    }
    return std::make_shared<Multinomial>(start.data(), column.data(), count.data(), m, d, 0.5);
  };
  const auto full = [&rng, n](int columns) -> Make {
    auto rows = std::make_shared<std::vector<double>>(static_cast<std::size_t>(n) * columns);
    for (double& v : *rows) v = rng.normal();
    return [=](int first, int m) {
      std::vector<double> centre(columns, 0.1), psi(static_cast<std::size_t>(columns) * columns, 0.02);
      for (int i = 0; i < columns; ++i) psi[static_cast<std::size_t>(i) * columns + i] = 1.0 + 0.1 * i;
      return std::make_shared<GaussianWishart>(rows->data() + static_cast<std::size_t>(first) * columns, m, columns, centre.data(), 0.1,
                                               columns + 6.0, psi.data());
    };
  };
  return {{"GaussianWishart, 4 columns", full(4)},
          {"GaussianWishart, 13 columns", full(13), true},
          {"GaussianWishart, 20 columns", full(20), true},
          {"GaussianWishart, 45 columns", full(45), true},
          {"GaussianWishart, 131 columns", full(131), true},
          {"Multinomial", words},
          {"Categorical", plain},
          {"Categorical with gaps", holes},
          {"Poisson", few},
          {"Poisson, large, with gaps", many, true},
          {"GaussianDiagonal", even},
          {"GaussianDiagonal with gaps", no_longer_even},
          {"Product", product}};
}

}  // namespace

TEST_CASE("doors of statistics") {
  CHECK(larger(0.0, std::nan("")) == kInf);
  CHECK(larger(kInf, 1.0, 2.0) == kInf);
  Rng rng(7);
  const int n = 60;
  for (const Case& c : cases(n, rng)) {
    auto likelihood = c.make(0, n);
    const double worst = doors(*likelihood, rng);
    CHECK_MESSAGE(worst < 1e-8, "doors of ", c.name, ": ", worst);
    const double joined = unions(*likelihood);
    CHECK_MESSAGE(joined < 1e-8, "unions of ", c.name, ": ", joined);
    const double taken = taking(c.make, n);
    CHECK_MESSAGE(taken < 1e-8, "rows taken in by ", c.name, ": ", taken);
    if (c.heavy) continue;
    // Of thirty rows a stranger; of three and of one, where the base measure matters, a row of their own: of a stranger's density too
    // few atoms are most of the mean.
    for (const auto& [step, row] : {std::pair(2, 0), std::pair(25, 1), std::pair(n, 1)}) {
      const double score = atoms(*likelihood, rng, step, row);
      CHECK_MESSAGE(score < 5.0, "atoms of ", c.name, ": ", score);
    }
  }
}

// A row far from all others takes its digits with it when it leaves: statistics say so, or have kept them.
TEST_CASE("what a far row leaves behind") {
  Rng rng(8);
  const int n = 12, d = 3;
  std::vector<double> x(n * d), mean(d, 0.0), one(d, 1.0), psi(d * d, 0.0);
  for (int j = 0; j < d; ++j) psi[j * d + j] = 1.0;
  for (double& v : x) v = rng.normal();
  for (const double far : {30.0, 1e4, 1e6, 1e8}) {
    for (int j = 0; j < d; ++j) x[j] = far;
    const std::shared_ptr<Likelihood> families[] = {
        std::make_shared<GaussianWishart>(x.data(), n, d, mean.data(), 0.1, d + 2.0, psi.data()),
        std::make_shared<GaussianDiagonal>(x.data(), n, d, mean.data(), one.data(), one.data(), one.data())};
    for (const auto& family : families)
      for (const Layout layout : {Layout::clusters, Layout::nodes}) {
        auto kept = family->statistics(layout), fresh = family->statistics(layout);
        kept->reserve(1);
        fresh->reserve(1);
        for (int i = 0; i < n; ++i) kept->add(0, i);
        for (int i = 1; i < n; ++i) fresh->add(0, i);
        if (!kept->remove(0, 0)) continue;  // its owner makes it anew
        CHECK_MESSAGE(difference(kept->log_marginal(0), fresh->log_marginal(0)) < 1e-6, far);
        CHECK_MESSAGE(difference(kept->log_predictive_without(1, 0), fresh->log_predictive_without(1, 0)) < 1e-6, far);
      }
  }
}

// Rows with gaps against all clusters at once say what they say of each, whatever was moved in between.
TEST_CASE("rows with gaps against many clusters") {
  Rng rng(11);
  const int n = 80, k = 11;
  for (const int d : {1, 3, 8, 13, 45})
    for (const double power : {1.0, 0.3})
      for (const double slant : {0.0, 0.02}) {
        std::vector<double> rows(static_cast<std::size_t>(n) * d), centre(d, 0.4), psi(static_cast<std::size_t>(d) * d, slant);
        for (double& v : rows) v = rng.uniform() < 0.3 ? std::nan("") : 3.0 * rng.normal();
        for (int i = 0; i < d; ++i) psi[static_cast<std::size_t>(i) * d + i] = 0.2 + i;
        const GaussianWishart likelihood(rows.data(), n, d, centre.data(), 0.1, d + 3.0, psi.data(), power);
        auto statistics = likelihood.statistics(Layout::clusters);
        statistics->reserve(k);
        std::vector<int> label(n);
        for (int i = 0; i < n; ++i) statistics->add(label[i] = rng.index(k), i);
        AlignedVector<double> out(padded(k));
        double worst = 0.0;
        for (int i = 0; i < n; ++i) {
          if (!statistics->remove(label[i], i)) {
            statistics->clear(label[i]);
            for (int j = 0; j < n; ++j)
              if (j != i && label[j] == label[i]) statistics->add(label[i], j);
          }
          statistics->log_observed_front(i, k, out.data());
          for (int c = 0; c < k; ++c) worst = larger(worst, difference(out[c], statistics->log_observed(i, c)));
          label[i] = rng.index(k);
          statistics->impute(i, label[i], rng);
          statistics->add(label[i], i);
        }
        CHECK_MESSAGE(worst < 1e-9, d, " columns at power ", power, ", slant ", slant, ": ", worst);
      }
}
