// Gaussian clusters from their rows: all of them at once, and one without one of its rows. Included by gaussian_wishart_statistics.hpp.
#pragma once

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {

// In two passes, means first: cheaper than a change of rank one a row, and more exact.
template <int D>
void GaussianWishartStatistics<D>::add_each(const int* slots, int n) {
  if constexpr (D == 0) return Statistics::add_each(slots, n);
  for (int row = 0; row < n; ++row) {
    if (slots[row] < 0) continue;
    const Record p = record(slots[row]);
    const double* x = f_.row(row);
    p.n() += 1.0;
    for (int i = 0; i < d(); ++i) p.mean()[i] += x[i];
  }
  for (int s = 0; s < slots_; ++s)
    for (int i = 0; i < d() && record(s).n() > 1.0; ++i) record(s).mean()[i] /= record(s).n();
  for (int row = 0; row < n; ++row) {
    if (slots[row] < 0) continue;
    const Record p = record(slots[row]);
    const double* x = f_.row(row);
    Vector z(*this, 0);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - p.mean()[i];
    packed::rank_one<D>(p.scatter(), d(), z, 1.0);
  }
  for (int s = 0; s < slots_; ++s) {
    if (record(s).n() == 0.0) continue;
    record(s).n() == 1.0 ? invert_one(s) : static_cast<void>(refactor(s));
    touch(s);
  }
}

template <int D>
double GaussianWishartStatistics<D>::leave_one_out_from_scatter(int slot, int row) {
  const Record p = record(slot);
  const double n = p.n();
  const double* x = f_.row(row);
  std::vector<double> z(d()), mean(d()), scatter(p.scatter(), p.scatter() + t()), psi(t());
  for (int i = 0; i < d(); ++i) z[i] = x[i] - p.mean()[i];
  packed::rank_one<D>(scatter.data(), d(), z.data(), -n / (n - 1.0));
  for (int i = 0; i < d(); ++i) mean[i] = p.mean()[i] - z[i] / (n - 1.0);
  for (int i = 0; i < d(); ++i) {
    double& diagonal = scatter[packed::size(i) + i];
    diagonal = std::max(diagonal, 0.0);
  }
  posterior_scale(n - 1.0, mean.data(), scatter.data(), psi.data());
  double logdet = packed::cholesky(psi.data(), d());
  if (std::isnan(logdet)) logdet = 0.0;  // Ψ_n ⪰ I always, so this is the exact lower limit
  const int m = static_cast<int>(n);
  return log_marginal(slot) - (f_.marginal_constant(m - 1) - 0.5 * (f_.freedom(n) - f_.power()) * logdet);
}

}  // namespace hedgerow
