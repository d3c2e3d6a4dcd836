// The panel of basis measures, filled by cluster and read by point; predictive weights.
#include "hedgerow/join_panel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hedgerow/likelihood.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {

namespace {
constexpr int kNarrow = 16;       // basis measures up to which clusters lie side by side, lane by lane; beyond, each has a row
constexpr double kSeen = 1e-150;  // shares of a cluster's row below this are looked at only where they could count
constexpr double kDigits = 1e-14, kLeastWeight = 1e-300;
}  // namespace

JoinPanel::JoinPanel(const Measure& measure)
    : measure_(&measure), plain_(measure.trivial_q()), wide_(measure.bases() > kNarrow), own_(padded(measure.bases())) {}

void JoinPanel::reserve(int clusters) {
  if (padded(clusters) <= stride_) return;
  const int stride = 2 * padded(clusters);
  const std::size_t R = measure_->bases();
  if (plain_) {
    log_size_.resize(stride, 0.0);
  } else if (wide_) {
    share_.resize(stride * R, 0.0);
    band_.resize(stride);
    factor_.resize(stride, 1.0);
    total_.resize(stride, 0.0);
    known_.resize(stride, 0);
  } else {
    std::vector<double> share(stride * R, 0.0);
    for (std::size_t r = 0; r < R; ++r)
      std::copy_n(share_.begin() + static_cast<std::ptrdiff_t>(r * stride_), stride_,
                  share.begin() + static_cast<std::ptrdiff_t>(r * stride));
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
  put_shares(c, (m - measure_->sigma()) * std::exp(-less));
}

void JoinPanel::put_drawn(int c, int m, int basis) {
  std::fill(own_.begin(), own_.end(), 0.0);
  own_[basis] = 1.0;
  put_shares(c, m - measure_->sigma());
}

void JoinPanel::put_shares(int c, double factor) {
  const int R = measure_->bases();
  factor_[c] = factor;
  if (!wide_) {
    for (int r = 0; r < R; ++r) share_[static_cast<std::size_t>(r) * stride_ + c] = own_[r] * measure_->base_rate(r);
    return;
  }
  double* row = share_.data() + static_cast<std::size_t>(c) * R;
  int first = R, last = -1;
  double unseen = 0.0, all = 0.0;
  for (int r = 0; r < R; ++r) {
    row[r] = own_[r] * measure_->base_rate(r);
    all += row[r];
    if (own_[r] <= kSeen) continue;
    first = std::min(first, r);
    last = r;
  }
  for (int r = 0; r < R; ++r)
    if (r < first || r > last) unseen += row[r];
  band_[c] = {std::min(first, last + 1), last + 1, unseen, std::log(std::max(factor * all, kLeastWeight))};
  known_[c] = 0;
}

void JoinPanel::add_to(int t, int k, double* out) const {
  if (plain_) {
    for (int j = 0; j < k; ++j) out[j] += log_size_[j];
    return;
  }
  const int R = measure_->bases();
  const double* q = measure_->q_row(t);
  if (!wide_) return simd().mixed_weights(share_.data(), factor_.data(), k, stride_, R, q, out);
  const double most = *std::max_element(q, q + R);
  if (std::exchange(asked_, t) != t) std::fill_n(known_.begin(), k, char{0});
  for (int j = 0; j < k; ++j)
    if (!std::exchange(known_[j], char{1})) total_[j] = weighed(j, t, most);
  simd().add_logs(total_.data(), padded(k), out);
}

void JoinPanel::add_to_highest(int t, int k, double* out) const {
  if (plain_ || !wide_) return add_to(t, k, out);
  const double* q = measure_->q_row(t);
  const double most = *std::max_element(q, q + measure_->bases()), log_most = std::log(most);
  int first = 0;
  for (int j = 0; j < k; ++j) {
    out[j] += band_[j].log_all + log_most;  // it is no more than this
    if (out[j] > out[first]) first = j;
  }
  double best = -kInf;
  for (int i = -1; i < k; ++i) {
    const int j = i < 0 ? first : i;
    if (i == first) continue;
    if (!(out[j] > best)) {
      out[j] = -kInf;
      continue;
    }
    out[j] += std::log(std::max(weighed(j, t, most), kLeastWeight)) - band_[j].log_all - log_most;
    best = std::max(best, out[j]);
  }
}

double JoinPanel::weighed(int c, int t, double most) const {
  const int R = measure_->bases();
  const double* row = share_.data() + static_cast<std::size_t>(c) * R;
  const double* q = measure_->q_row(t);
  const Band& band = band_[c];
  double sum = simd().dot(row + band.first, q + band.first, band.end - band.first);
  if (!(sum * kDigits >= band.unseen * most)) sum = simd().dot(row, q, R);
  return sum * factor_[c];
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
