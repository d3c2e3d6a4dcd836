// Jain and Neal's proposal: a launch state by restricted Gibbs, one more scan to the split, the exact ratio.
#include "hedgerow/kernels/split_merge.hpp"

#include <algorithm>
#include <cmath>

#include "hedgerow/special.hpp"

namespace hedgerow {

std::vector<std::string> SplitMerge::stat_names() const { return {"split_proposed", "accepted", "log_r", "moved"}; }

void SplitMerge::stats(double* out) const {
  out[0] = split_;
  out[1] = accepted_;
  out[2] = log_r_;
  gibbs_.stats(out + 3);
}

void SplitMerge::step(State& state) {
  if (state.partition.rows() > 1) propose(state);
  gibbs_.step(state);
}

double SplitMerge::scan(State& state, const std::vector<char>* forced) {
  double log_q = 0.0;
  const int count = static_cast<int>(rows_.size()) - 2;  // the seeds stay
  for (int i = 0; i < count; ++i) {
    const int row = rows_[i], own = side_of_[i];
    double score[2];
    score[own] = sides_.score_without(row, own);
    score[1 - own] = sides_.score(row, 1 - own);
    const double total = log_add(score[0], score[1]);
    const int chosen = forced ? (*forced)[i] : (state.rng.uniform() < std::exp(score[0] - total) ? 0 : 1);
    log_q += score[chosen] - total;
    if (chosen == own) continue;
    sides_.remove(own, row, rows_, side_of_);
    side_of_[i] = static_cast<char>(chosen);
    sides_.add(chosen, row);
  }
  return log_q;
}

void SplitMerge::propose(State& state) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int n = partition.rows();
  const int i = rng.index(n);
  int j = rng.index(n - 1);
  if (j >= i) ++j;
  const int a = partition.label(i), b = partition.label(j);
  const bool split = a == b;
  sides_.attach(state);

  rows_.clear();
  for (int row : partition.members(a))
    if (row != i && row != j) rows_.push_back(row);
  if (!split)
    for (int row : partition.members(b))
      if (row != j) rows_.push_back(row);
  std::sort(rows_.begin(), rows_.end());  // the scan order must not depend on how the state was reached
  rows_.push_back(i);
  rows_.push_back(j);
  const int m = static_cast<int>(rows_.size());
  std::vector<char> original(m);
  for (int p = 0; p < m; ++p) original[p] = partition.label(rows_[p]) == a ? 0 : 1;

  // Launch: random sides, then restricted scans.
  sides_.clear(0);
  sides_.clear(1);
  side_of_.assign(m, 0);
  for (int p = 0; p < m - 2; ++p) side_of_[p] = static_cast<char>(rng.index(2));
  side_of_[m - 1] = 1;
  for (int p = 0; p < m; ++p) sides_.add(side_of_[p], rows_[p]);
  for (int s = 0; s < scans_; ++s) scan(state, nullptr);

  const double log_q = scan(state, split ? nullptr : &original);
  const double phi_sides = sides_.log_phi(0) + sides_.log_phi(1);
  std::vector<double> q(partition.log_q().empty() ? 0 : state.measure.bases());
  for (std::size_t r = 0; r < q.size(); ++r) q[r] = sides_.log_q(0)[r] + sides_.log_q(1)[r];
  sides_.statistics().copy(2, 0);
  sides_.statistics().merge(2, 1);
  const double phi_merged = state.measure.log_weight(m, q.data()) + sides_.statistics().log_marginal(2);
  log_r_ = split ? phi_sides - phi_merged - log_q : phi_merged - phi_sides + log_q;
  split_ = split;
  accepted_ = std::log(rng.uniform_open()) < log_r_;
  if (accepted_ == 0.0) return;
  if (!split) return partition.join(a, b);
  std::vector<int> leaving;
  for (int p = 0; p < m; ++p)
    if (side_of_[p] == 1) leaving.push_back(rows_[p]);
  partition.split(a, leaving);
}

}  // namespace hedgerow
