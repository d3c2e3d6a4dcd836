// Birth and death of clusters of one row; the ratio is derived in singles.hpp.
#include "hedgerow/kernels/singles.hpp"

#include <algorithm>
#include <numeric>

#include "hedgerow/special.hpp"

namespace hedgerow {

void Singles::set_weights(const RowWatch& seen, int n) {
  constexpr double kLeast = 1e-3;  // of the mean: rows that never had a chance keep a little of one
  weight_ = seen.empty() ? std::vector<double>(n, 1.0 / n) : seen.opening;
  const double least = kLeast * std::accumulate(weight_.begin(), weight_.end(), 0.0) / n + 1e-12;
  for (double& w : weight_) w = std::max(w, least);
  total_ = std::accumulate(weight_.begin(), weight_.end(), 0.0);
  threshold_.resize(n);
  alias_.resize(n);
  std::vector<int> small, large;
  for (int i = 0; i < n; ++i) {
    threshold_[i] = weight_[i] * n / total_;
    alias_[i] = i;
    (threshold_[i] < 1.0 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const int s = small.back(), l = large.back();
    small.pop_back();
    alias_[s] = l;
    threshold_[l] -= 1.0 - threshold_[s];
    if (threshold_[l] >= 1.0) continue;
    large.pop_back();
    small.push_back(l);
  }
  for (int i : small) threshold_[i] = 1.0;
  for (int i : large) threshold_[i] = 1.0;
}

int Singles::draw_row(Rng& rng) const {
  const int i = rng.index(static_cast<int>(alias_.size()));
  return rng.uniform() < threshold_[i] ? i : alias_[i];
}

void Singles::step(State& state, Gibbs& gibbs, int moves) {
  births_ = deaths_ = 0;
  if (moves == 0) return;
  alone_ = 0;
  for (int size : state.partition.sizes()) alone_ += size == 1;
  gibbs.begin(state);
  for (int move = 0; move < moves; ++move) state.rng.uniform() < 0.5 ? birth(state, gibbs) : death(state, gibbs);
}

void Singles::birth(State& state, Gibbs& gibbs) {
  Partition& partition = state.partition;
  const int row = draw_row(state.rng), size = partition.size(partition.label(row)), k = partition.clusters();
  if (size == 1) return;
  const double* w = gibbs.score(state, row);
  const double others = std::accumulate(w, w + k, 0.0);
  const int alone = alone_ + 1 + (size == 2);
  if (state.rng.uniform_open() * others * weight_[row] * alone >= w[k] * total_) return;
  gibbs.move(state, row, k);
  alone_ = alone;
  ++births_;
}

void Singles::death(State& state, Gibbs& gibbs) {
  Partition& partition = state.partition;
  const int k = partition.clusters();
  if (alone_ == 0 || k == 1) return;
  int left = state.rng.index(alone_), c = 0;
  while (partition.size(c) != 1 || left-- > 0) ++c;
  const int row = partition.members(c)[0];
  const double* w = gibbs.score(state, row);
  const double others = std::accumulate(w, w + k, 0.0);
  if (!(others > 0.0) || state.rng.uniform_open() * w[k] * total_ >= others * weight_[row] * alone_) return;
  const int to = draw_index(state.rng, w, k, others);
  alone_ -= 1 + (partition.size(to) == 1);
  gibbs.move(state, row, to);
  ++deaths_;
}

}  // namespace hedgerow
