// Bookkeeping of clusters: members, sizes, statistics, and their moves.
#include "hedgerow/partition.hpp"

#include <algorithm>

namespace hedgerow {

Partition::Partition(const Likelihood& likelihood, const Measure& measure, std::vector<int> groups)
    : likelihood_(likelihood),
      measure_(measure),
      groups_(std::move(groups)),
      R_(measure.bases()),
      plain_(measure.trivial_q()),
      statistics_(likelihood.statistics(Layout::clusters)) {}

void Partition::assign(const std::vector<int>& labels) {
  label_ = labels;
  k_ = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  position_.assign(labels.size(), 0);
  rebuild();
}

void Partition::rebuild() {
  sizes_.assign(k_, 0);
  members_.resize(std::max<std::size_t>(members_.size(), k_));
  for (auto& m : members_) m.clear();
  if (!plain_) log_q_.assign(static_cast<std::size_t>(k_) * R_, 0.0);
  statistics_->reset(k_ + 8);
  for (int row = 0; row < rows(); ++row)
    if (label_[row] >= 0) seat(row, label_[row]);
  statistics_->add_each({label_.data(), static_cast<std::size_t>(rows())});
}

void Partition::place(int row, int c) {
  seat(row, c);
  statistics_->add(c, row);
}

void Partition::seat(int row, int c) {
  label_[row] = c;
  position_[row] = static_cast<int>(members_[c].size());
  members_[c].push_back(row);
  ++sizes_[c];
  if (!plain_) add_q(c, row, 1.0);
}

void Partition::leave(int c, int row) {
  auto& m = members_[c];
  const int last = m.back();
  m[position_[row]] = last;
  position_[last] = position_[row];
  m.pop_back();
  --sizes_[c];
  if (!plain_) add_q(c, row, -1.0);
}

void Partition::unplace(int row) {
  const int c = label_[row];
  leave(c, row);
  if (sizes_[c] > 0 && !statistics_->remove(c, row)) rebuild_cluster(c);
}

void Partition::rebuild_cluster(int c) {
  statistics_->clear(c);
  for (int row : members_[c]) statistics_->add(c, row);
}

void Partition::add_q(int c, int row, double sign) {
  const double* lq = measure_.lq_row(group(row));
  double* out = log_q_.data() + static_cast<std::size_t>(c) * R_;
  for (int r = 0; r < R_; ++r) out[r] += sign * lq[r];
}

void Partition::open(int c) {
  k_ = c + 1;
  sizes_.resize(k_, 0);
  sizes_[c] = 0;
  if (static_cast<int>(members_.size()) < k_) members_.resize(k_);
  members_[c].clear();
  if (!plain_) {
    log_q_.resize(static_cast<std::size_t>(k_) * R_);
    std::fill(log_q_.end() - R_, log_q_.end(), 0.0);
  }
  statistics_->reserve(k_ + 8);
  statistics_->clear(c);
}

void Partition::close(int c) {
  const int last = k_ - 1;
  if (c != last) {
    members_[c].swap(members_[last]);
    sizes_[c] = sizes_[last];
    for (int row : members_[c]) label_[row] = c;
    if (!plain_)
      std::copy_n(log_q_.begin() + static_cast<std::ptrdiff_t>(last) * R_, R_, log_q_.begin() + static_cast<std::ptrdiff_t>(c) * R_);
    statistics_->copy(c, last);
  }
  members_[last].clear();
  sizes_.pop_back();
  if (!plain_) log_q_.resize(static_cast<std::size_t>(last) * R_);
  k_ = last;
}

int Partition::scratch(int i) {
  statistics_->reserve(k_ + i + 1);
  return k_ + i;
}

Partition::Moved Partition::move(int row, int to) {
  const int from = label_[row];
  if (to == from) return {from, from, false};
  if (to == k_) open(to);
  unplace(row);
  place(row, to);
  if (sizes_[from] > 0) return {from, to, false};
  const int last = k_ - 1;
  close(from);
  return {from, to == last ? from : to, true};
}

void Partition::insert(int row, int to) {
  if (to == k_) open(to);
  place(row, to);
}

void Partition::take_out(int row) {
  const int from = label_[row];
  unplace(row);
  label_[row] = -1;
  if (sizes_[from] == 0) close(from);
}

void Partition::split(int c, const std::vector<int>& leaving) {
  const int fresh = k_;
  open(fresh);
  for (int row : leaving) leave(c, row);
  for (int row : leaving) place(row, fresh);
  rebuild_cluster(c);
}

void Partition::join(int a, int b) {
  for (int row : members_[b]) {
    label_[row] = a;
    position_[row] = static_cast<int>(members_[a].size());
    members_[a].push_back(row);
  }
  members_[b].clear();
  sizes_[a] += sizes_[b];
  sizes_[b] = 0;
  if (!plain_)
    for (int r = 0; r < R_; ++r) log_q_[static_cast<std::size_t>(a) * R_ + r] += log_q_[static_cast<std::size_t>(b) * R_ + r];
  statistics_->merge(a, b);
  close(b);
}

double Partition::log_likelihood() {
  double total = 0.0;
  for (int c = 0; c < k_; ++c) total += statistics_->log_marginal(c);
  return total;
}

void canonical_labels(const std::vector<int>& raw, int* out) {
  int k = 0;
  for (int x : raw) k = std::max(k, x + 1);
  std::vector<int> map(k, -1);
  int next = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    int& m = map[raw[i]];
    if (m < 0) m = next++;
    out[i] = m;
  }
}

}  // namespace hedgerow
