// Seeds, blocks and sides of a split along a guide; notation as in guided_split.hpp.
#include "hedgerow/kernels/guided_split.hpp"

#include <cmath>

#include "hedgerow/special.hpp"

namespace hedgerow {

// ω_v: the chance, as the guide's builder saw it, that v joins different clusters, plus an even share for every node.
void GuidedSplit::begin(const WeightedGuide& guide, std::span<const int> rows) {
  guide.tree.induce(rows, induced_);
  const std::size_t inner = induced_.begin.size();
  omega_.assign(inner, 1.0 / static_cast<double>(inner));
  if (!guide.split_probability.empty())
    for (std::size_t v = 0; v < inner; ++v) omega_[v] += guide.split_probability[induced_.gap[v]];
  omega_total_ = 0.0;
  for (double w : omega_) omega_total_ += w;
  side_of_.assign(rows.size(), 0);
}

void GuidedSplit::cut_into_blocks(int child, int block_size) {
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
void GuidedSplit::list_blocks(int v, int block_size) {
  blocks_.clear();
  for (int seed : {i_, j_}) {
    hanging_.clear();
    int node = seed == i_ ? induced_.left[v] : induced_.right[v];
    while (node >= 0) {
      const bool goes_left = seed <= node;
      hanging_.push_back(goes_left ? induced_.right[node] : induced_.left[node]);
      node = goes_left ? induced_.left[node] : induced_.right[node];
    }
    for (auto it = hanging_.rbegin(); it != hanging_.rend(); ++it) cut_into_blocks(*it, block_size);
  }
  for (int node = v, up = induced_.parent[v]; up >= 0; node = up, up = induced_.parent[up])
    cut_into_blocks(induced_.left[up] == node ? induced_.right[up] : induced_.left[up], block_size);
}

void GuidedSplit::seed_sides() {
  sides_.clear(0);
  sides_.clear(1);
  sides_.add(0, induced_.rows[i_]);
  sides_.add(1, induced_.rows[j_]);
}

// Proportional to φ_h(side ∪ block) / φ_h(side).
void GuidedSplit::choose(const Block& block, double* log_choice) {
  double scores[2];
  if (block.end - block.begin > 1) {
    sides_.set_block(std::span(induced_.rows).subspan(block.begin, block.end - block.begin));
    sides_.score_block(scores);
  } else {
    for (int side : {0, 1}) scores[side] = sides_.score(induced_.rows[block.begin], side);
  }
  const double total = log_add(scores[0], scores[1]);
  for (int side : {0, 1}) log_choice[side] = scores[side] - total;
}

void GuidedSplit::add_block(const Block& block, int side) {
  if (block.end - block.begin > 1) return sides_.add_block(side);
  sides_.add(side, induced_.rows[block.begin]);
}

double GuidedSplit::draw(Rng& rng, int block_size) {
  const int v = draw_index(rng, omega_.data(), static_cast<int>(omega_.size()), omega_total_);
  i_ = induced_.begin[v] + rng.index(v + 1 - induced_.begin[v]);
  j_ = v + 1 + rng.index(induced_.end[v] - v - 1);
  list_blocks(v, block_size);
  seed_sides();
  side_of_[j_] = 1;
  double log_q = 0.0;
  for (const Block& block : blocks_) {
    double choice[2];
    choose(block, choice);
    const int side = rng.uniform() < std::exp(choice[0]) ? 0 : 1;
    log_q += choice[side];
    add_block(block, side);
    for (int p = block.begin; p < block.end; ++p) side_of_[p] = static_cast<char>(side);
  }
  return log_q;
}

void GuidedSplit::set_sides(const Partition& partition, int b) {
  for (std::size_t p = 0; p < side_of_.size(); ++p) side_of_[p] = partition.label(induced_.rows[p]) == b;
}

double GuidedSplit::log_separated() {
  const std::size_t m = side_of_.size();
  prefix_.assign(m + 1, 0);
  for (std::size_t p = 0; p < m; ++p) prefix_[p + 1] = prefix_[p] + (side_of_[p] == 0);
  pair_weight_.resize(omega_.size());
  separated_ = 0.0;
  for (std::size_t w = 0; w < omega_.size(); ++w) {
    const double l = static_cast<double>(w) + 1 - induced_.begin[w], r = induced_.end[w] - static_cast<double>(w) - 1;
    const double al = prefix_[w + 1] - prefix_[induced_.begin[w]], ar = prefix_[induced_.end[w]] - prefix_[w + 1];
    separated_ += pair_weight_[w] = omega_[w] * (al * (r - ar) + (l - al) * ar) / (l * r);
  }
  return std::log(separated_ / omega_total_);
}

// A uniform position of [begin, end) on the given side, of which there are `count`.
int GuidedSplit::pick(Rng& rng, int begin, int end, int side, int count) const {
  int left = rng.index(count);
  for (int p = begin; p < end; ++p)
    if (side_of_[p] == side && left-- == 0) return p;
  return begin;
}

bool GuidedSplit::draw_seeds(Rng& rng, int block_size) {
  const int v = draw_index(rng, pair_weight_.data(), static_cast<int>(pair_weight_.size()), separated_);
  const int begin = induced_.begin[v], middle = v + 1, end = induced_.end[v];
  const double al = prefix_[middle] - prefix_[begin], ar = prefix_[end] - prefix_[middle];
  const double bl = middle - begin - al, br = end - middle - ar;
  const bool i_in_a = rng.uniform() * (al * br + bl * ar) < al * br;
  i_ = pick(rng, begin, middle, i_in_a ? 0 : 1, static_cast<int>(i_in_a ? al : bl));
  j_ = pick(rng, middle, end, i_in_a ? 1 : 0, static_cast<int>(i_in_a ? br : ar));
  list_blocks(v, block_size);
  for (const Block& block : blocks_) {
    const int in_a = prefix_[block.end] - prefix_[block.begin];
    if (in_a != 0 && in_a != block.end - block.begin) return false;
  }
  return true;
}

double GuidedSplit::replay(double log_p, double least) {
  seed_sides();
  for (const Block& block : blocks_) {
    if (log_p < least) break;  // every further factor only lowers it
    double choice[2];
    choose(block, choice);
    const int side = side_of_[block.begin] == side_of_[i_] ? 0 : 1;
    log_p += choice[side];
    add_block(block, side);
  }
  return log_p;
}

void GuidedSplit::second_side(std::vector<int>& out) const {
  out.clear();
  for (std::size_t p = 0; p < side_of_.size(); ++p)
    if (side_of_[p] == 1) out.push_back(induced_.rows[p]);
}

}  // namespace hedgerow
