// Which cluster is split or merged with which, and the exact acceptance ratios.
#include "hedgerow/kernels/guided_moves.hpp"

#include <algorithm>
#include <cmath>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr double kHopeless = 30.0;  // nats below what acceptance needs: the replay of a split may end
}

void GuidedMoves::step(State& state, const Guides& guides, int moves) {
  splits_ = split_accepts_ = merges_ = merge_accepts_ = log_r_count_ = 0;
  log_r_sum_ = 0.0;
  split_.attach(state);
  for (int g = 0; g < moves; ++g) move(state, guides);
}

void GuidedMoves::stats(double* out) const {
  for (int count : {splits_, split_accepts_, merges_, merge_accepts_}) *out++ = count;
  *out = log_r_count_ > 0 ? log_r_sum_ / log_r_count_ : std::nan("");
}

double GuidedMoves::affinities(State& state, int slot, int size, const double* lq, int skip_a, int skip_b, std::vector<double>& out) {
  Partition& partition = state.partition;
  const Measure& measure = state.measure;
  const int k = partition.clusters(), R = measure.bases();
  while (static_cast<int>(others_.size()) < k) others_.push_back(static_cast<int>(others_.size()));
  merged_.resize(k);
  out.resize(k);
  partition.statistics().log_marginal_merged(slot, {others_.data(), static_cast<std::size_t>(k)}, merged_.data());
  const double own = measure.log_weight(size, lq) + partition.statistics().log_marginal(slot);
  std::vector<double> sum_q(measure.trivial_q() ? 0 : R);
  double top = 0.0;
  for (int c = 0; c < k; ++c) {
    if (c == skip_a || c == skip_b) {
      out[c] = -kInf;
      continue;
    }
    for (std::size_t r = 0; r < sum_q.size(); ++r) sum_q[r] = lq[r] + partition.log_q(c)[r];
    out[c] = measure.log_weight(size + partition.size(c), sum_q.data()) + merged_[c] - own - log_phi_[c];
    top = std::max(top, out[c]);
  }
  double total = std::exp(-top);
  for (int c = 0; c < k; ++c) total += std::exp(out[c] - top);
  return top + std::log(total);
}

void GuidedMoves::move(State& state, const Guides& guides) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int n = partition.rows(), k = partition.clusters();
  const WeightedGuide& guide = *guides[rng.index(static_cast<int>(guides.size()))];
  int levels = 1;
  while ((1 << (levels - 1)) < n) ++levels;
  const int block_size = 1 << rng.index(levels);
  const int c = rng.index(k);
  log_phi_.resize(k);
  for (int j = 0; j < k; ++j)
    log_phi_[j] = state.measure.log_weight(partition.size(j), partition.log_q(j)) + partition.statistics().log_marginal(j);
  affinities_total_ = affinities(state, c, partition.size(c), partition.log_q(c), c, -1, affinity_);
  double left = rng.uniform();
  for (int j = 0; j < k; ++j) {
    left -= std::exp(affinity_[j] - affinities_total_);
    if (left < 0.0) return merge(state, guide, c, j, block_size);
  }
  if (partition.size(c) > 1) split(state, guide, c, block_size);
}

void GuidedMoves::split(State& state, const WeightedGuide& guide, int c, int block_size) {
  Partition& partition = state.partition;
  const int k = partition.clusters();
  ++splits_;
  split_.begin(guide, partition.members(c));
  const double log_q = split_.draw(state.rng, block_size);
  const double log_s = split_.log_separated();

  // The way back: pick either side, then choose the other to merge with.
  SplitSides& sides = split_.sides();
  const double phi_a = sides.log_phi(0), phi_b = sides.log_phi(1);
  const double phi_m = log_phi_[c];
  const double log_p_split = -affinities_total_;
  const int slot_a = partition.scratch(0), slot_b = partition.scratch(1);
  partition.statistics().load(slot_a, sides.statistics(), 0);
  partition.statistics().load(slot_b, sides.statistics(), 1);
  const double log_ab = phi_m - phi_a - phi_b;  // log a(A, B')
  const double total_a = log_add(log_ab, affinities(state, slot_a, sides.size(0), sides.log_q(0), c, -1, other_affinity_));
  const double total_b = log_add(log_ab, affinities(state, slot_b, sides.size(1), sides.log_q(1), c, -1, other_affinity_));
  const double log_back = log_add(log_ab - total_a, log_ab - total_b) - std::log(k + 1.0);
  const double log_there = -std::log(static_cast<double>(k)) + log_p_split + log_q + log_s;
  const double log_r = phi_a + phi_b - phi_m + log_back - log_there;
  log_r_sum_ += log_r;
  ++log_r_count_;
  if (std::log(state.rng.uniform_open()) >= log_r) return;
  ++split_accepts_;
  split_.second_side(rows_);
  partition.split(c, rows_);
}

void GuidedMoves::merge(State& state, const WeightedGuide& guide, int a, int b, int block_size) {
  Partition& partition = state.partition;
  const int k = partition.clusters();
  ++merges_;
  const double log_accept = std::log(state.rng.uniform_open());
  const double log_ab = affinity_[b];
  const double forward_a = log_ab - affinities_total_;
  const double total_b = affinities(state, b, partition.size(b), partition.log_q(b), b, -1, other_affinity_);
  const double log_there = log_add(forward_a, log_ab - total_b) - std::log(static_cast<double>(k));

  // The merged state: its chance of proposing a split of m.
  const int slot = partition.scratch(0);
  partition.statistics().copy(slot, a);
  partition.statistics().merge(slot, b);
  std::vector<double> q(state.measure.trivial_q() ? 0 : state.measure.bases());
  for (std::size_t r = 0; r < q.size(); ++r) q[r] = partition.log_q(a)[r] + partition.log_q(b)[r];
  const double log_p_split = -affinities(state, slot, partition.size(a) + partition.size(b), q.data(), a, b, other_affinity_);
  const double phi_m = log_ab + log_phi_[a] + log_phi_[b];
  double log_r = phi_m - log_phi_[a] - log_phi_[b] - std::log(k - 1.0) + log_p_split - log_there;

  // The split that would undo it.
  rows_ = partition.members(a);
  rows_.insert(rows_.end(), partition.members(b).begin(), partition.members(b).end());
  split_.begin(guide, rows_);
  split_.set_sides(partition, b);
  log_r += split_.log_separated();
  if (!split_.draw_seeds(state.rng, block_size)) return;  // no split from these seeds could have produced the two
  log_r = split_.replay(log_r, log_accept - kHopeless);
  log_r_sum_ += log_r;
  ++log_r_count_;
  if (log_accept >= log_r) return;
  ++merge_accepts_;
  partition.join(a, b);
}

}  // namespace hedgerow
