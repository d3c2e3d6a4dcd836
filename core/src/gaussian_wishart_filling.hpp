// Gaussian clusters from their rows: all of them at once, and one without one of its rows. Included by gaussian_wishart_statistics.hpp.
#pragma once

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {

// In two passes, means first: cheaper than a change of rank one a row, and more exact.
template <int D>
void GaussianWishartStatistics<D>::add_each(std::span<const int> slots) {
  if constexpr (D == 0) return add_each_wide(slots);
  const int n = static_cast<int>(slots.size());
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

// Many columns: slot by slot, the scatter by eight rows at a time; what comes from it is made where it is asked for.
template <int D>
void GaussianWishartStatistics<D>::add_each_wide(std::span<const int> slots) {
  const int n = static_cast<int>(slots.size());
  std::vector<int> start(static_cast<std::size_t>(slots_) + 1, 0), order(n);
  for (int row = 0; row < n; ++row)
    if (slots[row] >= 0) ++start[slots[row] + 1];
  for (int s = 0; s < slots_; ++s) start[s + 1] += start[s];
  std::vector<int> next(start.begin(), start.end() - 1);
  for (int row = 0; row < n; ++row)
    if (slots[row] >= 0) order[next[slots[row]]++] = row;
  const int stride = padded(d());
  gather_.assign(static_cast<std::size_t>(kLanes) * stride, 0.0);
  for (int s = 0; s < slots_; ++s) {
    const int first = start[s], last = start[s + 1];
    if (first == last) continue;
    const Record p = record(s);
    p.n() = last - first;
    double* mean = p.mean();
    for (int at = first; at < last; ++at) {
      const double* x = f_.row(order[at]);
      for (int i = 0; i < d(); ++i) mean[i] += x[i];
    }
    for (int i = 0; i < d(); ++i) mean[i] /= p.n();
    std::fill_n(work(), static_cast<std::size_t>(stride) * d(), 0.0);
    for (int at = first; at < last; at += kLanes) {
      double* z = gather_.data();
      if (at + kLanes > last) std::fill_n(z, static_cast<std::size_t>(kLanes) * stride, 0.0);
      for (int r = 0; r < kLanes && at + r < last; ++r, z += stride) {
        const double* x = f_.row(order[at + r]);
        for (int i = 0; i < d(); ++i) z[i] = x[i] - mean[i];
      }
      simd().add_outer(work(), d(), gather_.data());
    }
    for (int i = 0; i < d(); ++i) std::copy_n(work() + static_cast<std::size_t>(i) * stride, i + 1, p.scatter() + packed::size(i));
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
