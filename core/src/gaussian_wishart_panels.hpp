// Gaussian clusters side by side, eight to a block, for the vector loops. Included by gaussian_wishart_statistics.hpp.
#pragma once

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {

template <int D>
void GaussianWishartStatistics<D>::load_predictive(int slot) {
  need_inverse(slot);
  const Record p = record(slot);
  const double n = p.n(), r = f_.r();
  double* lane = predictive_panel_.data() + static_cast<std::size_t>(slot / kLanes) * kLanes * predictive_fields() + slot % kLanes;
  const double shrink = n / (r + n);
  for (int i = 0; i < d(); ++i, lane += kLanes) *lane = shrink * p.mean()[i];
  const double* inverse = p.inverse();
  for (int i = 0; i < d(); ++i)
    for (int j = 0; j <= i; ++j, lane += kLanes) *lane = (i == j ? 1.0 : 2.0) * *inverse++;
  lane[0] = (r + n) / (r + n + 1.0);
  lane[kLanes] = 0.5 * (f_.freedom(n) + f_.power());
  lane[2 * kLanes] = f_.predictive_constant(static_cast<int>(n)) - 0.5 * f_.power() * p.logdet();
  stale_[slot] &= 2;
}

template <int D>
void GaussianWishartStatistics<D>::load_merge(int slot) {
  const Record p = record(slot);
  double* lane = merge_panel_.data() + static_cast<std::size_t>(slot / kLanes) * kLanes * merge_fields() + slot % kLanes;
  lane[0] = p.n();
  for (int i = 0; i < d() + t(); ++i) lane[static_cast<std::size_t>(1 + i) * kLanes] = p.mean()[i];
  stale_[slot] &= 1;
}

}  // namespace hedgerow
