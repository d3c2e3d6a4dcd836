// Gaussian clusters put together: log p(X_slot ∪ X_other) of one slot with many. Included by gaussian_wishart_statistics.hpp.
#pragma once

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {

template <int D>
void GaussianWishartStatistics<D>::log_marginal_merged(int slot, std::span<const int> others, double* out) {
  if constexpr (D == 0) {
    const int k = static_cast<int>(others.size());
    // One row more is a change of rank one, which the predictive has in closed form.
    if (record(slot).n() == 1.0 && clusters_ && is_front(others) && k > 1) {
      const std::vector<double> x(record(slot).mean(), record(slot).mean() + d());
      front_.resize(padded(k));
      front_predictive(x.data(), k, front_.data());
      for (int i = 0; i < k; ++i) out[i] = log_marginal(i) + front_[i];
      return;
    }
    if (wide_ || record(slot).n() == 1.0 || k <= (d() < kFewFrom ? 1 : 2)) return merged_one_by_one(slot, others, out);
  }
  merged_in_lanes(slot, others, out);
}

template <int D>
void GaussianWishartStatistics<D>::merged_one_by_one(int slot, std::span<const int> others, double* out) {
  const int k = static_cast<int>(others.size());
  const Record p = record(slot);
  const double na = p.n(), r = f_.r();
  Vector delta(*this, 0), mean(*this, 1);
  for (int i = 0; i < k; ++i) {
    const Record o = record(others[i]);
    const double n = na + o.n();
    if (na == 1.0) {
      out[i] = log_marginal(others[i]) + log_predictive_of(p.mean(), others[i]);
    } else if (o.n() == 1.0) {
      out[i] = log_marginal(slot) + log_predictive_of(o.mean(), slot);
    } else {
      const double fraction = o.n() / n;
      for (int j = 0; j < d(); ++j) {
        delta[j] = o.mean()[j] - p.mean()[j];
        mean[j] = p.mean()[j] + fraction * delta[j];
      }
      simd().scale_matrix(work(), d(), p.scatter(), o.scatter(), delta, na * fraction, mean, r * n / (n + r));
      out[i] = f_.marginal_constant(static_cast<int>(n)) - 0.5 * f_.freedom(n) * simd().factor_square(work(), d());
    }
  }
}

template <int D>
void GaussianWishartStatistics<D>::merged_in_lanes(int slot, std::span<const int> others, double* out) {
  const int k = static_cast<int>(others.size());
  // The record of `slot` without P, in the order the loop wants: n, mean, S.
  const Record p = record(slot);
  double* a = work();
  a[0] = p.n();
  std::memcpy(a + 1, p.mean(), sizeof(double) * (d() + t()));
  const bool front = clusters_ && is_front(others);
  if (front) {
    for (int s : stale_merge_) load_merge(s);
    stale_merge_.clear();
  }
  const int fields = merge_fields();
  if (!front) gather_.resize(static_cast<std::size_t>(kLanes) * fields);
  double lane_out[kLanes];
  for (int b = 0; b * kLanes < k; ++b) {
    const int count = std::min(kLanes, k - b * kLanes);
    const double* panel = merge_panel_.data() + static_cast<std::size_t>(b) * kLanes * fields;
    if (!front) {
      for (int l = 0; l < kLanes; ++l) {
        const Record o = record(others[b * kLanes + std::min(l, count - 1)]);
        gather_[l] = o.n();
        for (int i = 0; i < d() + t(); ++i) gather_[static_cast<std::size_t>(1 + i) * kLanes + l] = o.mean()[i];
      }
      panel = gather_.data();
    }
    simd().gw_merged_logdet(panel, 1, d(), f_.r(), a, merge_work_.data(), lane_out);
    for (int l = 0; l < count; ++l) {
      const int n = static_cast<int>(a[0] + record(others[b * kLanes + l]).n());
      out[b * kLanes + l] = f_.marginal_constant(n) - 0.5 * f_.freedom(n) * lane_out[l];
    }
  }
}

}  // namespace hedgerow
