// Split and merge moves along guide trees, with their exact acceptance ratios; notation as in tree_guided.hpp.
#include "hedgerow/kernels/tree_guided.hpp"

#include <algorithm>
#include <cmath>

#include "hedgerow/special.hpp"

namespace hedgerow {

static double log_phi(State& state, int c) {
  Partition& p = state.partition;
  return state.measure.log_weight(p.size(c), p.log_q(c)) + p.statistics().log_marginal(c);
}

double TreeGuided::affinities(State& state, int slot, int size, const double* lq, int skip_a, int skip_b, double* out) {
  Partition& partition = state.partition;
  const Measure& measure = state.measure;
  const int k = partition.clusters(), R = measure.bases();
  while (static_cast<int>(others_.size()) < k) others_.push_back(static_cast<int>(others_.size()));
  merged_.resize(k);
  partition.statistics().log_marginal_merged(slot, others_.data(), k, merged_.data());
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

void TreeGuided::global_move(State& state) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int n = partition.rows(), k = partition.clusters();
  const WeightedGuide& guide = *guides_[rng.index(static_cast<int>(guides_.size()))];
  int levels = 1;
  while ((1 << (levels - 1)) < n) ++levels;
  const int block_size = 1 << rng.index(levels);
  const int c = rng.index(k);
  log_phi_.resize(k);
  for (int j = 0; j < k; ++j) log_phi_[j] = log_phi(state, j);
  affinity_.resize(k);
  affinities_total_ = affinities(state, c, partition.size(c), partition.log_q(c), c, -1, affinity_.data());
  double left = rng.uniform();
  for (int j = 0; j < k; ++j) {
    left -= std::exp(affinity_[j] - affinities_total_);
    if (left < 0.0) return merge(state, guide, c, j, block_size);
  }
  if (partition.size(c) > 1) split(state, guide, c, block_size);
}

// ω_v: the chance, as the guide's builder saw it, that v joins different clusters, plus an even share for every node.
void TreeGuided::node_weights(const WeightedGuide& guide) {
  const std::size_t inner = induced_.begin.size();
  omega_.assign(inner, 1.0 / static_cast<double>(inner));
  if (guide.split_probability.empty()) return;
  for (std::size_t v = 0; v < inner; ++v) omega_[v] += guide.split_probability[induced_.node[v]];
}

void TreeGuided::cut_into_blocks(int child, int block_size) {
  pending_.assign(1, child);  // a stack of its own: guides may be as deep as they have rows
  while (!pending_.empty()) {
    const int node = pending_.back();
    pending_.pop_back();
    if (node < 0) {
      blocks_.push_back({~node, ~node + 1});
    } else if (induced_.size(node) <= block_size) {
      blocks_.push_back({induced_.begin[node], induced_.end[node]});
    } else {
      pending_.push_back(induced_.right[node]);
      pending_.push_back(induced_.left[node]);
    }
  }
}

// The blocks hanging off the paths i → v, j → v and v → root, nearest first.
void TreeGuided::list_blocks(int v, int i, int j, int block_size) {
  blocks_.clear();
  std::vector<int> hanging;
  for (int seed : {i, j}) {
    hanging.clear();
    int node = seed == i ? induced_.left[v] : induced_.right[v];
    while (node >= 0) {
      const bool goes_left = seed <= node;
      hanging.push_back(goes_left ? induced_.right[node] : induced_.left[node]);
      node = goes_left ? induced_.left[node] : induced_.right[node];
    }
    for (auto it = hanging.rbegin(); it != hanging.rend(); ++it) cut_into_blocks(*it, block_size);
  }
  for (int node = v, up = induced_.parent[v]; up >= 0; node = up, up = induced_.parent[up])
    cut_into_blocks(induced_.left[up] == node ? induced_.right[up] : induced_.left[up], block_size);
}

// log φ_h(side ∪ block) − log φ_h(side) for the two sides.
void TreeGuided::block_scores(const Block& block, double* out) {
  if (block.end - block.begin > 1) {
    sides_.set_block(&induced_.rows[block.begin], block.end - block.begin);
    return sides_.score_block(out);
  }
  out[0] = sides_.score(induced_.rows[block.begin], 0);
  out[1] = sides_.score(induced_.rows[block.begin], 1);
}

void TreeGuided::add_block(const Block& block, int side) {
  if (block.end - block.begin > 1) return sides_.add_block(side);
  sides_.add(side, induced_.rows[block.begin]);
}

void TreeGuided::seed_sides(int i, int j) {
  sides_.clear(0);
  sides_.clear(1);
  sides_.add(0, induced_.rows[i]);
  sides_.add(1, induced_.rows[j]);
}

// Probability of choosing side 0 given the two scores, and of side 1, in logs.
static void log_choice(const double* scores, double* out) {
  const double total = log_add(scores[0], scores[1]);
  out[0] = scores[0] - total;
  out[1] = scores[1] - total;
}

void TreeGuided::split(State& state, const WeightedGuide& guide, int c, int block_size) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int k = partition.clusters(), m = partition.size(c);
  ++splits_;
  guide.tree.induce(partition.members(c).data(), m, induced_);
  node_weights(guide);
  double omega_total = 0.0;
  for (double w : omega_) omega_total += w;
  const int v = draw_index(rng, omega_.data(), static_cast<int>(omega_.size()), omega_total);
  const int i = induced_.begin[v] + rng.index(v + 1 - induced_.begin[v]);
  const int j = v + 1 + rng.index(induced_.end[v] - v - 1);
  list_blocks(v, i, j, block_size);
  seed_sides(i, j);
  side_of_.assign(m, 0);
  side_of_[j] = 1;
  double log_q = 0.0;
  for (const Block& block : blocks_) {
    double scores[2], choice[2];
    block_scores(block, scores);
    log_choice(scores, choice);
    const int side = rng.uniform() < std::exp(choice[0]) ? 0 : 1;
    log_q += choice[side];
    add_block(block, side);
    for (int p = block.begin; p < block.end; ++p) side_of_[p] = static_cast<char>(side);
  }
  // s: the chance that the pair law separates the two sides.
  prefix_.assign(m + 1, 0);
  for (int p = 0; p < m; ++p) prefix_[p + 1] = prefix_[p] + (side_of_[p] == 0);
  double separated = 0.0;
  for (std::size_t w = 0; w < omega_.size(); ++w) {
    const double l = static_cast<double>(w) + 1 - induced_.begin[w], r = induced_.end[w] - static_cast<double>(w) - 1;
    const double al = prefix_[w + 1] - prefix_[induced_.begin[w]], ar = prefix_[induced_.end[w]] - prefix_[w + 1];
    separated += omega_[w] * (al * (r - ar) + (l - al) * ar) / (l * r);
  }
  const double log_s = std::log(separated / omega_total);

  // The way back: pick either side, then choose the other to merge with.
  const double phi_a = sides_.log_phi(0), phi_b = sides_.log_phi(1);
  const double phi_m = log_phi_[c];
  const double log_p_split = -affinities_total_;
  const int slot_a = partition.scratch(0), slot_b = partition.scratch(1);
  partition.statistics().load(slot_a, sides_.statistics(), 0);
  partition.statistics().load(slot_b, sides_.statistics(), 1);
  const double log_ab = phi_m - phi_a - phi_b;  // log a(A, B')
  merged_affinity_.resize(k);
  const double total_a = log_add(log_ab, affinities(state, slot_a, sides_.size(0), sides_.log_q(0), c, -1, merged_affinity_.data()));
  const double total_b = log_add(log_ab, affinities(state, slot_b, sides_.size(1), sides_.log_q(1), c, -1, merged_affinity_.data()));
  const double log_back = log_add(log_ab - total_a, log_ab - total_b) - std::log(k + 1.0);
  const double log_there = -std::log(static_cast<double>(k)) + log_p_split + log_q + log_s;
  const double log_r = phi_a + phi_b - phi_m + log_back - log_there;
  log_r_sum_ += log_r;
  ++log_r_count_;
  if (std::log(rng.uniform_open()) >= log_r) return;
  ++split_accepts_;
  leaving_.clear();
  for (int p = 0; p < m; ++p)
    if (side_of_[p] == 1) leaving_.push_back(induced_.rows[p]);
  partition.split(c, leaving_);
}

void TreeGuided::merge(State& state, const WeightedGuide& guide, int a, int b, int block_size) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int k = partition.clusters();
  ++merges_;
  const double log_accept = std::log(rng.uniform_open());
  const double log_ab = affinity_[b];
  const double forward_a = log_ab - affinities_total_;
  merged_affinity_.resize(k);
  const double total_b = affinities(state, b, partition.size(b), partition.log_q(b), b, -1, merged_affinity_.data());
  const double log_there = log_add(forward_a, log_ab - total_b) - std::log(static_cast<double>(k));

  // The merged state: its chance of proposing a split of m.
  const int slot = partition.scratch(0);
  partition.statistics().copy(slot, a);
  partition.statistics().merge(slot, b);
  std::vector<double> q(state.measure.trivial_q() ? 0 : state.measure.bases());
  for (std::size_t r = 0; r < q.size(); ++r) q[r] = partition.log_q(a)[r] + partition.log_q(b)[r];
  const double log_p_split = -affinities(state, slot, partition.size(a) + partition.size(b), q.data(), a, b, merged_affinity_.data());
  const double phi_m = log_ab + log_phi_[a] + log_phi_[b];
  double log_r = phi_m - log_phi_[a] - log_phi_[b] - std::log(k - 1.0) + log_p_split - log_there;
  ++log_r_count_;

  // The split that would undo it: the same description with the outcome known.
  leaving_ = partition.members(a);
  leaving_.insert(leaving_.end(), partition.members(b).begin(), partition.members(b).end());
  const int m = static_cast<int>(leaving_.size());
  guide.tree.induce(leaving_.data(), m, induced_);
  node_weights(guide);
  double omega_total = 0.0;
  for (double w : omega_) omega_total += w;
  side_of_.resize(m);
  prefix_.assign(m + 1, 0);
  for (int p = 0; p < m; ++p) {
    side_of_[p] = partition.label(induced_.rows[p]) == b;
    prefix_[p + 1] = prefix_[p] + (side_of_[p] == 0);
  }
  pair_weight_.resize(omega_.size());
  double separated = 0.0;
  for (std::size_t w = 0; w < omega_.size(); ++w) {
    const double l = static_cast<double>(w) + 1 - induced_.begin[w], r = induced_.end[w] - static_cast<double>(w) - 1;
    const double al = prefix_[w + 1] - prefix_[induced_.begin[w]], ar = prefix_[induced_.end[w]] - prefix_[w + 1];
    separated += pair_weight_[w] = omega_[w] * (al * (r - ar) + (l - al) * ar) / (l * r);
  }
  log_r += std::log(separated / omega_total);
  const int v = draw_index(rng, pair_weight_.data(), static_cast<int>(pair_weight_.size()), separated);
  const int begin = induced_.begin[v], middle = v + 1, end = induced_.end[v];
  const double al = prefix_[middle] - prefix_[begin], ar = prefix_[end] - prefix_[middle];
  const double bl = middle - begin - al, br = end - middle - ar;
  const bool i_in_a = rng.uniform() * (al * br + bl * ar) < al * br;
  const int i = pick(rng, begin, middle, i_in_a ? 0 : 1, static_cast<int>(i_in_a ? al : bl));
  const int j = pick(rng, middle, end, i_in_a ? 1 : 0, static_cast<int>(i_in_a ? br : ar));
  list_blocks(v, i, j, block_size);
  for (const Block& block : blocks_) {
    const int in_a = prefix_[block.end] - prefix_[block.begin];
    if (in_a != 0 && in_a != block.end - block.begin) {  // no split could have produced this
      log_r_count_ -= 1;
      return;
    }
  }
  seed_sides(i, j);
  for (const Block& block : blocks_) {
    if (log_r < log_accept - 30.0) break;  // every further factor only lowers it
    double scores[2], choice[2];
    block_scores(block, scores);
    log_choice(scores, choice);
    const int side = side_of_[block.begin] == side_of_[i] ? 0 : 1;
    log_r += choice[side];
    add_block(block, side);
  }
  log_r_sum_ += log_r;
  if (log_accept >= log_r) return;
  ++merge_accepts_;
  partition.join(a, b);
}

// A uniform position of [begin, end) on the given side, of which there are `count`.
int TreeGuided::pick(Rng& rng, int begin, int end, int side, int count) const {
  int left = rng.index(count);
  for (int p = begin; p < end; ++p)
    if (side_of_[p] == side && left-- == 0) return p;
  return begin;
}

}  // namespace hedgerow
