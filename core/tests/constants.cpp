// Constants of clusters of very many rows: sums of ln Γ at once, and no step where they take over from tables.
#include <cmath>
#include <vector>

#include "hedgerow/gamma_sum.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/special.hpp"
#include "testing.hpp"

using namespace hedgerow;

TEST_CASE("many log-gammas at once are their sum") {
  for (const int terms : {1, 2, 7, 100}) {
    GammaSum sum, step;
    for (int j = 0; j < terms; ++j) {
      sum.add(-0.5 * j);
      step.add(0.5 - 0.5 * j);
      step.add(-0.5 * j, -1.0);
    }
    for (const double far : {1.0, 3.7, 1e3, 1e6}) {
      const double a = far * GammaSum::kFar * 0.5 * (terms + 1);
      double expected = 0.0;
      for (int j = 0; j < terms; ++j) expected += hedgerow::lgamma(a - 0.5 * j);
      CHECK_MESSAGE(std::abs(sum.at(a) - expected) <= 1e-14 * std::abs(expected), terms, " terms at ", a);
      // The sum telescopes.
      const double risen = hedgerow::lgamma(a + 0.5) - hedgerow::lgamma(a + 0.5 - 0.5 * terms), rounding = 1e-15 * hedgerow::lgamma(a);
      CHECK_MESSAGE(std::abs(step.at(a) - risen) <= 1e-13 * std::abs(risen) + rounding, terms, " steps at ", a);
    }
  }
}

// One more row changes the marginal by the predictive, in tables, beyond them, and from one to the other.
TEST_CASE("constants of large clusters") {
  for (const int d : {1, 2, 6, 45, 130})
    for (const double power : {1.0, 0.3}) {
      std::vector<double> x(d, 0.5), mean(d, 0.1), psi(static_cast<std::size_t>(d) * d, 0.0);
      for (int j = 0; j < d; ++j) psi[static_cast<std::size_t>(j) * d + j] = 1.3;
      const GaussianWishart family(x.data(), 1, d, mean.data(), 0.1, d + 2.5, psi.data(), power);
      for (const int around : {100, 1 << 14, static_cast<int>((GammaSum::kFar * (d + power) - d - 2.5) / power), 1 << 20, 100'000'000})
        for (int n = around - 3; n < around + 3; ++n) {
          const double marginal = family.marginal_constant(n), grown = family.marginal_constant(n + 1);
          const double rounding = 1e-14 * d * n * std::log(static_cast<double>(n) + d);
          CHECK_MESSAGE(std::abs(grown - marginal - family.predictive_constant(n)) <= rounding, d, " columns, ", n, " rows, power ",
                        power);
        }
    }
}
