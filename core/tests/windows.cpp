// Windows of clusters: the loops over their rows on every instruction set, sums over orders, and mixtures fitted to them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "hedgerow/kernels/window_fit.hpp"
#include "hedgerow/special.hpp"
#include "larger.hpp"
#include "rows.hpp"
#include "simd.hpp"
#include "testing.hpp"

using namespace hedgerow;

namespace {

double moments(const Simd& loops, Rng& rng, int n, int d) {
  const int room = padded(n);
  std::vector<double> x(static_cast<std::size_t>(room) * d, 0.0), w(room, 0.0), mean(d), scatter(d * (d + 1) / 2);
  double total = 0.0;
  for (int i = 0; i < n; ++i) {
    total += w[i] = rng.uniform();
    for (int j = 0; j < d; ++j) x[static_cast<std::size_t>(j) * room + i] = rng.normal();
  }
  double worst = std::abs(loops.window_moments(x.data(), room, d, w.data(), mean.data(), scatter.data()) - total);
  for (int j = 0, at = 0; j < d; ++j) {
    const double* a = &x[static_cast<std::size_t>(j) * room];
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += w[i] * a[i];
    worst = larger(worst, std::abs(mean[j] - sum / total));
    for (int k = 0; k <= j; ++k, ++at) {
      const double* b = &x[static_cast<std::size_t>(k) * room];
      double product = 0.0;
      for (int i = 0; i < n; ++i) product += w[i] * (a[i] - mean[j]) * (b[i] - mean[k]);
      worst = larger(worst, std::abs(scatter[at] - product));
    }
  }
  return worst;
}

double densities(const Simd& loops, Rng& rng, int n, int d) {
  const int room = padded(n);
  const std::vector<double> x = normals(rng, room * d, 1.0), mean = normals(rng, d, 1.0), g = normals(rng, d * (d + 1) / 2, 1.0);
  std::vector<double> out(room);
  loops.window_densities(x.data(), room, d, mean.data(), g.data(), 0.7, out.data());
  double worst = 0.0;
  for (int i = 0; i < n; ++i) {
    double q = 0.0;
    for (int j = 0; j < d; ++j) {
      double s = 0.0;
      for (int k = 0; k <= j; ++k) s += g[j * (j + 1) / 2 + k] * (x[static_cast<std::size_t>(k) * room + i] - mean[k]);
      q += s * s;
    }
    worst = larger(worst, std::abs(out[i] - (0.7 - 0.5 * q)) / (1.0 + q));
  }
  return worst;
}

double shares(const Simd& loops, Rng& rng, int n, int k) {
  const int room = padded(n);
  const std::vector<double> logs = normals(rng, room * k, 50.0);
  std::vector<double> share(logs.size()), total(room);
  loops.window_shares(logs.data(), room, k, share.data(), total.data());
  double worst = 0.0;
  for (int i = 0; i < n; ++i) {
    double sum = -kInf;
    for (int at = i; at < room * k; at += room) sum = log_add(sum, logs[at]);
    worst = larger(worst, std::abs(total[i] - sum) / (1.0 + std::abs(sum)));
    for (int at = i; at < room * k; at += room) worst = larger(worst, std::abs(share[at] - std::exp(logs[at] - sum)));
  }
  return worst;
}

}  // namespace

TEST_CASE("loops over the rows of a window") {  // on the instruction set that the tests run on
  Rng rng(1);
  for (const int n : {1, 7, 8, 9, 300}) {
    for (const int d : {1, 2, 3, 7, 8, 9}) {
      CHECK_MESSAGE(moments(simd(), rng, n, d) < 1e-11, "moments, ", n, " × ", d);
      CHECK_MESSAGE(densities(simd(), rng, n, d) < 1e-12, "densities, ", n, " × ", d);
    }
    for (const int k : {1, 2, 5}) CHECK_MESSAGE(shares(simd(), rng, n, k) < 1e-12, "shares, ", n, ", ", k);
  }
}

TEST_CASE("a permanent is the sum over all orders") {
  Rng rng(2);
  for (int k = 1; k <= 5; ++k) {
    const std::vector<double> a = normals(rng, k * k, 3.0);
    std::vector<int> order(k);
    std::iota(order.begin(), order.end(), 0);
    double sum = -kInf;
    do {
      double one = 0.0;
      for (int j = 0; j < k; ++j) one += a[j * k + order[j]];
      sum = log_add(sum, one);
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(std::abs(log_permanent(a, k) - sum) < 1e-12);
  }
}

// How far weights of parameters drawn for k clusters are from the mass of the partition of row i in cluster i % k.
static double off_mass(Rng& rng, const Likelihood& likelihood, int k) {
  const int n = likelihood.rows();
  const double sigma = 0.3, log_alone = -0.4;
  auto portions = likelihood.portions();
  auto statistics = likelihood.statistics(Layout::nodes);
  statistics->reserve(k);
  std::vector<int> rows(n);
  for (int i = 0; i < n; ++i) statistics->add(i % k, rows[i] = i);
  double mass = 0.0, worst = 0.0;
  for (int j = 0; j < k; ++j) mass += log_alone + hedgerow::lgamma(n / k - sigma) + statistics->log_marginal(j);
  WindowFit fit;
  Placed placed;
  if (!fit.fit(rng, *portions, rows, k, sigma, log_alone)) return kInf;
  for (int t = 0; t < 20; ++t) worst = larger(worst, std::abs(fit.draw(rng, placed) - mass));
  return worst;
}

// A single cluster is its own posterior: the weight of whatever is drawn is the mass there is. So it is where two are far apart and one
// partition counts, in whatever order they come.
TEST_CASE("a window of certain clusters weighs what they do") {
  Rng rng(3);
  for (const int d : {1, 2, 5}) CHECK(off_mass(rng, gaussian(rng, 30, d), 1) < 1e-8);
  std::vector<double> x = normals(rng, 40, 0.3);
  const double mean = 0.0, psi = 1.0;
  for (int i = 0; i < 40; i += 2) x[i] += 60.0;
  CHECK(off_mass(rng, GaussianWishart(x.data(), 40, 1, &mean, 0.1, 5.0, &psi), 2) < 1e-6);
}

// Rows so far out that their squares leave the floats: the fit says so, and does not run on with numbers that are none.
TEST_CASE("a window that no number holds is left alone") {
  Rng rng(5);
  const int n = 12;
  std::vector<double> x = normals(rng, 2 * n, 1e200);
  const std::vector<double> mean(2, 0.0), psi = {1.0, 0.0, 0.0, 1.0};
  const GaussianWishart likelihood(x.data(), n, 2, mean.data(), 0.1, 8.0, psi.data());
  auto portions = likelihood.portions();
  std::vector<int> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  WindowFit fit;
  for (const int k : {1, 2, 3}) CHECK(!fit.fit(rng, *portions, rows, k, 0.2, 0.0));
}
