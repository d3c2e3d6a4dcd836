// The panel of basis measures, filled by cluster and read by point; predictive weights.
#include "hedgerow/join_panel.hpp"

#include <algorithm>
#include <cmath>

#include "hedgerow/likelihood.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {

JoinPanel::JoinPanel(const Measure& measure) : measure_(&measure), plain_(measure.trivial_q()), own_(measure.bases()) {}

void JoinPanel::reserve(int clusters) {
  if (padded(clusters) <= stride_) return;
  const int stride = 2 * padded(clusters);
  if (plain_) {
    log_size_.resize(stride, 0.0);
  } else {
    std::vector<double> share(static_cast<std::size_t>(stride) * measure_->bases(), 0.0);
    for (int r = 0; r < measure_->bases(); ++r)
      std::copy_n(share_.begin() + static_cast<std::ptrdiff_t>(r) * stride_, stride_,
                  share.begin() + static_cast<std::ptrdiff_t>(r) * stride);
    share_ = std::move(share);
    factor_.resize(stride, 1.0);
  }
  stride_ = stride;
}

void JoinPanel::put(int c, int m, const double* lq, double less) {
  if (plain_) {
    log_size_[c] = std::log(m - measure_->sigma()) + measure_->join_shift(0) - less;
    return;
  }
  measure_->basis_shares(m, lq, own_.data());
  for (int r = 0; r < measure_->bases(); ++r) share_[static_cast<std::size_t>(r) * stride_ + c] = own_[r];
  factor_[c] = (m - measure_->sigma()) * std::exp(-less);
}

void JoinPanel::put_drawn(int c, int m, int basis) {
  for (int r = 0; r < measure_->bases(); ++r) share_[static_cast<std::size_t>(r) * stride_ + c] = basis == r;
  factor_[c] = m - measure_->sigma();
}

void JoinPanel::add_to(int t, int k, double* out) const {
  if (plain_) {
    for (int j = 0; j < k; ++j) out[j] += log_size_[j];
    return;
  }
  simd().mixed_weights(share_.data(), factor_.data(), k, stride_, measure_->bases(), measure_->join_rate_row(t), out);
}

NextPoint::NextPoint(const Measure& measure, const std::vector<int>& sizes, const std::vector<double>& log_q, bool normalised)
    : measure_(measure), panel_(measure), k_(static_cast<int>(sizes.size())), normalised_(normalised) {
  if (measure.trivial_q()) {
    const Predictive p = measure.predictive(k_);
    for (int m : sizes) plain_.push_back(std::log(m - measure.sigma()) + std::log(p.join));
    plain_.push_back(std::log(p.fresh));
    return;
  }
  panel_.reserve(k_);
  for (int c = 0; c < k_; ++c) panel_.put(c, sizes[c], &log_q[static_cast<std::size_t>(c) * measure.bases()]);
}

void NextPoint::add_to(int t, double* out) {
  if (!plain_.empty()) {
    for (int c = 0; c <= k_; ++c) out[c] += plain_[c];
    return;
  }
  mixed_.assign(padded(k_ + 1), 0.0);
  panel_.add_to(t, k_, mixed_.data());
  mixed_[k_] = measure_.log_new(t);
  const double whole = normalised_ ? log_sum(mixed_.data(), k_ + 1) : 0.0, front = normalised_ ? 0.0 : measure_.log_next(t);
  for (int c = 0; c <= k_; ++c) out[c] = out[c] + (mixed_[c] - whole) + front;
}

}  // namespace hedgerow
