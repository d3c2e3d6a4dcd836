// Bookkeeping of the two halves of a split.
#include "hedgerow/kernels/split_sides.hpp"

namespace hedgerow {

void SplitSides::attach(State& state) {
  state_ = &state;
  if (likelihood_ == &state.partition.likelihood()) return;
  likelihood_ = &state.partition.likelihood();
  statistics_ = likelihood_->statistics(Layout::nodes);
  statistics_->reserve(3);
}

void SplitSides::clear(int side) {
  statistics_->clear(side);
  size_[side] = 0;
  q_[side].assign(state_->measure.trivial_q() ? 0 : state_->measure.bases(), 0.0);
}

double SplitSides::log_phi(int side) {
  return state_->measure.log_weight(size_[side], q_[side].data()) + statistics_->log_marginal(side);
}

void SplitSides::add_q(std::vector<double>& q, int row, double sign) const {
  if (q.empty()) return;
  const double* lq = state_->measure.lq_row(state_->partition.group(row));
  for (std::size_t r = 0; r < q.size(); ++r) q[r] += sign * lq[r];
}

void SplitSides::add(int side, int row) {
  statistics_->add(side, row);
  add_q(q_[side], row, 1.0);
  ++size_[side];
}

void SplitSides::remove(int side, int row, const std::vector<int>& rows, const std::vector<char>& side_of) {
  add_q(q_[side], row, -1.0);
  --size_[side];
  if (statistics_->remove(side, row)) return;
  statistics_->clear(side);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (side_of[i] == side && rows[i] != row) statistics_->add(side, rows[i]);
}

double SplitSides::weight_step(int side, int count, const double* q) const {
  const Measure& measure = state_->measure;
  if (measure.trivial_q()) return measure.log_kappa(size_[side] + count) - measure.log_kappa(size_[side]);
  return measure.log_weight(size_[side] + count, q) - measure.log_weight(size_[side], q_[side].data());
}

double SplitSides::score(int row, int side) {
  work_ = q_[side];
  add_q(work_, row, 1.0);
  return statistics_->log_predictive(row, side) + weight_step(side, 1, work_.data());
}

double SplitSides::score_without(int row, int side) {
  work_ = q_[side];
  add_q(work_, row, -1.0);
  return statistics_->log_predictive_without(row, side) - weight_step(side, -1, work_.data());
}

void SplitSides::set_block(std::span<const int> rows) {
  statistics_->clear(2);
  block_size_ = static_cast<int>(rows.size());
  block_q_.assign(q_[0].size(), 0.0);
  for (int row : rows) {
    statistics_->add(2, row);
    add_q(block_q_, row, 1.0);
  }
}

void SplitSides::score_block(double* out) {
  const int both[2] = {0, 1};
  statistics_->log_marginal_merged(2, both, out);
  for (int side = 0; side < 2; ++side) {
    work_ = q_[side];
    for (std::size_t r = 0; r < work_.size(); ++r) work_[r] += block_q_[r];
    out[side] += weight_step(side, block_size_, work_.data()) - statistics_->log_marginal(side);
  }
}

void SplitSides::add_block(int side) {
  statistics_->merge(side, 2);
  for (std::size_t r = 0; r < q_[side].size(); ++r) q_[side][r] += block_q_[r];
  size_[side] += block_size_;
}

}  // namespace hedgerow
