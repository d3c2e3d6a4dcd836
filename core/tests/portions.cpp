// Clusters of rows that count in part: masses as Statistics have them, and masses, draws and densities that belong together.
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
#include "hedgerow/likelihoods/row_factors.hpp"
#include "larger.hpp"
#include "testing.hpp"

using namespace hedgerow;

namespace {

constexpr int kRows = 130, kColumns = 3, kLooked = 16;  // the first rows of the window are looked at one by one
const std::vector<int> kWindow = [] {                   // not a multiple of 8, and not all rows
  std::vector<int> rows;
  for (int i = 0; i < kRows; ++i)
    if (i % 5 != 1 && i != 2) rows.push_back(i);
  return rows;
}();
const int kWide = padded(static_cast<int>(kWindow.size()));

using Family = std::shared_ptr<Likelihood>;
struct Case {
  std::string name;
  std::function<Family(double power)> make;
  bool same_atoms = true;  // laid out as those of Statistics, or so but for something at the end
};

std::vector<Case> cases() {
  Rng rng(5);
  const int d = kColumns;
  const std::vector<std::int32_t> levels{2, 4, 1};
  const std::vector<double> beta{0.4, 0.9, 0.1, 2.0, 0.5, 1.0, 0.7};
  const std::vector<double> a{0.3, 1.0, 2.5}, b{0.1, 2.0, 0.5}, mean{1.0, 0.0, 2.0}, half(d, 0.5);
  std::vector<double> psi(d * d, 0.1);
  for (int j = 0; j < d; ++j) psi[j * d + j] = 1.0 + j;
  std::vector<double> real(kRows * d), holed, counts(kRows * d), few, logs(kRows);
  std::vector<std::int32_t> codes(kRows * d), gaps;
  for (int i = 0; i < kRows * d; ++i) {
    real[i] = 1.5 + rng.normal();
    counts[i] = std::floor(rng.gamma(1.5, 0.4));
    codes[i] = rng.index(levels[i % d]);
  }
  for (double& v : logs) v = rng.normal();
  holed = real, few = counts, gaps = codes;
  for (int i = 0; i < kRows * d; ++i)
    if (i % d > 0 && rng.uniform() < 0.4) holed[i] = few[i] = std::nan(""), gaps[i] = -1;
  const auto full = [=](double p) -> Family {
    return std::make_shared<GaussianWishart>(real.data(), kRows, d, mean.data(), 0.3, d + 2.5, psi.data(), p);
  };
  const auto diagonal = [=](const std::vector<double>& x, const std::vector<double>& shapes) {
    return [=](double p) -> Family {
      return std::make_shared<GaussianDiagonal>(x.data(), kRows, d, mean.data(), half.data(), shapes.data(), b.data(), p);
    };
  };
  const auto poisson = [=](const std::vector<double>& x) {
    return [=](double p) -> Family { return std::make_shared<Poisson>(x.data(), kRows, d, a.data(), b.data(), p); };
  };
  const auto categorical = [=](const std::vector<std::int32_t>& x) {
    return [=](double p) -> Family { return std::make_shared<Categorical>(x.data(), kRows, d, levels.data(), beta.data(), p); };
  };
  const auto factors = [=](double p) -> Family { return std::make_shared<RowFactors>(logs.data(), kRows, p); };
  const auto product = [=](double p) -> Family {
    return std::make_shared<Product>(
        std::vector<Family>{categorical(gaps)(p), factors(p), diagonal(holed, a)(p), full(p), poisson(counts)(p)});
  };
  return {{"GaussianWishart", full, false},
          {"GaussianDiagonal", diagonal(real, half)},
          {"GaussianDiagonal, unlike columns", diagonal(real, a)},
          {"GaussianDiagonal with gaps", diagonal(holed, half)},
          {"Poisson", poisson(counts)},
          {"Poisson with gaps", poisson(few)},
          {"Categorical", categorical(codes)},
          {"Categorical with gaps", categorical(gaps)},
          {"RowFactors", factors},
          {"Product", product, false}};
}

// Weights as they come to each row, 0 beyond the last.
AlignedVector<double> weights(const std::function<double(int)>& of) {
  AlignedVector<double> w(kWide, 0.0);
  for (std::size_t i = 0; i < kWindow.size(); ++i) w[i] = of(static_cast<int>(i));
  return w;
}

double uneven(int i) { return i % 17 == 3 ? 0.15 * (i % 11) : 0.0; }

// Averages over draws given the rows as far as they count, of log L of every row and of L over `over`, with their standard errors.
struct Draws {
  std::vector<double> log_mean, log_error, mean, error;
  double total = 0.0;  // of Σ w log L
};

Draws draw(Portions& portions, const AlignedVector<double>& w, const std::vector<double>& over, Rng& rng) {
  constexpr int kDraws = 20000;
  const std::size_t n = kLooked;
  Draws out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  std::vector<double> atom(portions.atom_size());
  AlignedVector<double> log_density(kWide);
  for (int t = 0; t < kDraws; ++t) {
    portions.draw_atom(0, rng, atom.data());
    portions.log_densities(atom.data(), log_density.data());
    for (std::size_t i = 0; i < n; ++i) {
      const double x = log_density[i], y = std::exp(x - over[i]);
      out.log_mean[i] += x / kDraws, out.log_error[i] += x * x / kDraws;
      out.mean[i] += y / kDraws, out.error[i] += y * y / kDraws;
    }
    for (int i = 0; i < kWide; ++i) out.total += w[i] * log_density[i] / kDraws;
  }
  const auto error = [](double square, double mean) { return std::sqrt(std::max(0.0, square - mean * mean) / kDraws) + 1e-10; };
  for (std::size_t i = 0; i < n; ++i) {
    out.log_error[i] = error(out.log_error[i], out.log_mean[i]);
    out.error[i] = error(out.error[i], out.mean[i]);
  }
  return out;
}

}  // namespace

TEST_CASE("portions: rows that count whole, or the power they are raised to") {
  for (const Case& c : cases())
    for (const double power : {1.0, 0.3}) {
      const Family whole = c.make(1.0), raised = c.make(power);
      auto statistics = raised->statistics(Layout::nodes);
      auto portions = raised->portions(), plain = whole->portions();
      statistics->reserve(2);
      portions->open(kWindow, 3);
      plain->open(kWindow, 1);
      const auto count = [](int i) { return i % 3; };  // some not at all, some twice
      for (std::size_t i = 0; i < kWindow.size(); ++i)
        for (int t = 0; t < count(static_cast<int>(i)); ++t) statistics->add(1, kWindow[i]);
      const double expected = statistics->log_marginal(1);
      portions->weigh(0, weights(uneven).data());
      const double found = portions->weigh(2, weights(count).data());
      CHECK_MESSAGE(std::abs(found - expected) < 1e-12 * std::abs(expected), c.name, " at power ", power, ": ", found, " for ",
                    expected);
      CHECK_MESSAGE(
          std::abs(plain->weigh(0, weights([=](int i) { return power * count(i); }).data()) - expected) < 1e-12 * std::abs(expected),
          c.name, " at power 1: ", power);
      CHECK_MESSAGE(std::abs(portions->weigh(1, weights([](int) { return 0.0; }).data())) < 1e-12, c.name, " of nothing");
    }
}

TEST_CASE("portions: densities are those of Statistics") {
  Rng rng(6);
  for (const Case& c : cases())
    for (const double power : {1.0, 0.3}) {
      if (!c.same_atoms) continue;
      const Family family = c.make(power);
      auto statistics = family->statistics(Layout::clusters);
      auto portions = family->portions();
      portions->open(kWindow, 1);
      portions->weigh(0, weights(uneven).data());
      std::vector<double> atom(portions->atom_size() + 1);
      AlignedVector<double> found(kWide);
      double worst = 0.0;
      for (const bool drawn : {false, true}) {
        drawn ? portions->draw_atom(0, rng, atom.data()) : portions->middle_atom(0, atom.data());
        portions->log_densities(atom.data(), found.data());
        for (std::size_t i = 0; i < kWindow.size(); ++i)
          worst = larger(worst, std::abs(found[i] - statistics->log_density(kWindow[i], atom.data())));
      }
      for (int i = static_cast<int>(kWindow.size()); i < kWide; ++i) CHECK(std::isfinite(found[i]));
      CHECK_MESSAGE(worst < 1e-11, c.name, " at power ", power, ": ", worst);
    }
}

// A row that counts a little more raises log p by its mean log density, and one that counts 1 more by the log of its mean density.
TEST_CASE("portions: draws have the density that the mass belongs to") {
  Rng rng(7);
  for (const Case& c : cases())
    for (const double power : {1.0, 0.3}) {
      const Family family = c.make(power);
      auto portions = family->portions();
      portions->open(kWindow, 2);
      const AlignedVector<double> w = weights(uneven);
      const std::size_t n = kLooked;
      const double log_p = portions->weigh(0, w.data());
      std::vector<double> slope(n), predictive(n);
      for (std::size_t i = 0; i < n; ++i) {
        AlignedVector<double> v = w;
        const auto at = [&](double change) { return v[i] = w[i] + change, portions->weigh(1, v.data()); };
        constexpr double kStep = 1e-3;  // rows may not count below 0: from one side, of second order
        slope[i] = (4.0 * at(kStep) - at(2.0 * kStep) - 3.0 * log_p) / (2.0 * kStep);
        predictive[i] = at(1.0) - log_p;
      }
      const Draws drawn = draw(*portions, w, predictive, rng);
      double worst = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        worst = larger(worst, std::abs(drawn.log_mean[i] - slope[i]) / (drawn.log_error[i] + 1e-4));
        worst = larger(worst, std::abs(drawn.mean[i] - 1.0) / drawn.error[i]);
      }
      CHECK_MESSAGE(worst < 5.0, c.name, " at power ", power, ": ", worst);
      std::vector<double> atom(portions->atom_size());
      AlignedVector<double> middle(kWide);
      portions->middle_atom(0, atom.data());
      portions->log_densities(atom.data(), middle.data());
      double total = 0.0;
      for (int i = 0; i < kWide; ++i) total += w[i] * middle[i];
      CHECK_MESSAGE(total > drawn.total - 1e-9, c.name, ": the middle is less likely than a draw, ", total, " to ", drawn.total);
    }
}

TEST_CASE("portions: a product has them where all its parts have") {
  const std::vector<std::int64_t> start{0, 1, 2};
  const std::vector<std::int32_t> column{0, 1};
  const std::vector<double> count{2.0, 3.0}, logs{0.1, 0.2};
  const auto words = std::make_shared<Multinomial>(start.data(), column.data(), count.data(), 2, 2, 0.5);
  const auto factors = std::make_shared<RowFactors>(logs.data(), 2);
  CHECK(Product({factors, factors}).portions() != nullptr);
  CHECK(Product({factors, words}).portions() == nullptr);
}
