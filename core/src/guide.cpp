// Depth-first ranks, range minima of ancestors' depths, and induced trees as Cartesian trees.
#include "hedgerow/guide.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hedgerow {
namespace {
constexpr int kBlock = 64;
}

Guide::Guide(std::vector<int> left_in, std::vector<int> right_in) : left(std::move(left_in)), right(std::move(right_in)) {
  const int total = nodes();
  auto check = [](bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
  };
  check(right.size() == left.size() && total % 2 == 1, "a guide has 2n - 1 nodes");
  n_ = (total + 1) / 2;
  parent.assign(total, -1);
  for (int v = 0; v < total; ++v) {
    if (v < n_) {
      check(left[v] == -1 && right[v] == -1, "nodes 0..n-1 of a guide are leaves");
      continue;
    }
    for (int child : {left[v], right[v]}) {
      check(child >= 0 && child < total && child != v && parent[child] == -1, "every node of a guide but the root has one parent");
      parent[child] = v;
    }
  }
  depth.assign(total, 0);
  size.assign(total, 1);
  first.assign(total, 0);
  rank.assign(n_, 0);
  order.reserve(n_);
  gap_node_.assign(std::max(0, n_ - 1), -1);
  root_ = n_ == 1 ? 0 : static_cast<int>(std::find(parent.begin() + n_, parent.end(), -1) - parent.begin());
  check(root_ < total, "a guide has a root");
  // Depth first without recursion: a caterpillar may be as deep as it has rows.
  std::vector<int> stack{root_};
  int seen = 0;
  while (!stack.empty()) {
    const int v = stack.back();
    if (v < 0) {  // the left side of ~v is done: the next row starts its right side
      stack.pop_back();
      gap_node_[order.size() - 1] = ~v;
      continue;
    }
    stack.pop_back();
    ++seen;
    if (v != root_) depth[v] = depth[parent[v]] + 1;
    first[v] = static_cast<int>(order.size());
    if (v < n_) {
      rank[v] = first[v];
      order.push_back(v);
      continue;
    }
    stack.push_back(right[v]);
    stack.push_back(~v);
    stack.push_back(left[v]);
  }
  check(seen == total, "a guide is one tree");
  for (int v = n_; v < total; ++v) size[v] = 0;
  // Sizes from spans: the right child's rows end where the node's end.
  std::vector<int> down;
  down.reserve(total);
  down.push_back(root_);
  for (std::size_t i = 0; i < down.size(); ++i)
    if (down[i] >= n_) {
      down.push_back(left[down[i]]);
      down.push_back(right[down[i]]);
    }
  for (auto it = down.rbegin(); it != down.rend(); ++it)
    if (*it >= n_) size[*it] = size[left[*it]] + size[right[*it]];

  const int gaps = n_ - 1;
  gap_depth_.resize(gaps);
  for (int g = 0; g < gaps; ++g) gap_depth_[g] = depth[gap_node_[g]];
  stack_.resize(gaps);
  const int blocks = (gaps + kBlock - 1) / kBlock;
  std::vector<int> best(blocks);
  for (int b = 0; b < blocks; ++b) {
    std::uint64_t held = 0;
    const int start = b * kBlock;
    best[b] = start;
    for (int g = start; g < std::min(gaps, start + kBlock); ++g) {
      while (held != 0 && gap_depth_[start + 63 - std::countl_zero(held)] >= gap_depth_[g])
        held &= ~(1ull << (63 - std::countl_zero(held)));
      held |= 1ull << (g - start);
      stack_[g] = held;
      best[b] = shallower(best[b], g);
    }
  }
  sparse_.push_back(std::move(best));
  for (int step = 1; 2 * step <= blocks; step *= 2) {
    const std::vector<int>& low = sparse_.back();
    std::vector<int> high(blocks - 2 * step + 1);
    for (std::size_t b = 0; b < high.size(); ++b) high[b] = shallower(low[b], low[b + step]);
    sparse_.push_back(std::move(high));
  }
}

// The gap of least depth among first_gap..last_gap.
int Guide::shallowest(int a, int b) const {
  auto inside = [this](int from, int to) {  // one block: the lowest prefix minimum at or after `from`
    const std::uint64_t held = stack_[to] >> (from % kBlock) << (from % kBlock);
    return to / kBlock * kBlock + std::countr_zero(held);
  };
  const int block_a = a / kBlock, block_b = b / kBlock;
  if (block_a == block_b) return inside(a, b);
  int best = shallower(inside(a, block_a * kBlock + kBlock - 1), inside(block_b * kBlock, b));
  if (block_b - block_a > 1) {
    const int count = block_b - block_a - 1;
    const int level = std::bit_width(static_cast<unsigned>(count)) - 1;
    best = shallower(best, shallower(sparse_[level][block_a + 1], sparse_[level][block_b - (1 << level)]));
  }
  return best;
}

int Guide::ancestor(int rank_a, int rank_b) const {
  if (rank_a == rank_b) return order[rank_a];
  return gap_node_[shallowest(std::min(rank_a, rank_b), std::max(rank_a, rank_b) - 1)];
}

void Guide::sort_by_rank(std::span<const int> rows, std::vector<int>& out) const {
  const std::size_t m = rows.size();
  out.resize(m);
  // A bitmap costs n/64 words whatever m is; comparison sorting m·log m steps.
  if (m > 16 && m * std::bit_width(m) > static_cast<std::size_t>(n_) / 32) {
    thread_local std::vector<std::uint64_t> marked;
    marked.assign((n_ + 63) / 64, 0);
    for (int row : rows) marked[rank[row] / 64] |= 1ull << (rank[row] % 64);
    int k = 0;
    for (std::size_t w = 0; w < marked.size(); ++w)
      for (std::uint64_t bits = marked[w]; bits != 0; bits &= bits - 1) out[k++] = static_cast<int>(w * 64) + std::countr_zero(bits);
    return;
  }
  for (std::size_t i = 0; i < m; ++i) out[i] = rank[rows[i]];
  std::sort(out.begin(), out.end());
}

void Guide::induce(std::span<const int> rows, Induced& t) const {
  sort_by_rank(rows, t.rows);
  const int m = static_cast<int>(rows.size()), inner = std::max(0, m - 1);
  for (auto* v : {&t.begin, &t.end, &t.left, &t.right, &t.parent, &t.node}) v->resize(inner);
  t.order.clear();
  t.order.reserve(inner);
  t.root = -1;
  thread_local std::vector<int> gap, open;  // guide gap of inner node k; the right spine of what is built so far
  gap.resize(inner);
  open.clear();
  auto close = [&](int end) {  // the deepest open node gets its span's end and leaves the spine
    const int k = open.back();
    open.pop_back();
    t.end[k] = end;
    t.order.push_back(k);
    return k;
  };
  for (int k = 0; k < inner; ++k) {
    gap[k] = shallowest(t.rows[k], t.rows[k + 1] - 1);
    t.node[k] = gap_node_[gap[k]];
    int below = ~k;
    t.begin[k] = k;
    while (!open.empty() && gap_depth_[gap[open.back()]] > gap_depth_[gap[k]]) {
      below = close(k + 1);
      t.begin[k] = t.begin[below];
    }
    t.left[k] = below;
    t.right[k] = ~(k + 1);
    if (below >= 0) t.parent[below] = k;
    t.parent[k] = open.empty() ? -1 : open.back();
    if (!open.empty()) t.right[open.back()] = k;
    open.push_back(k);
  }
  while (!open.empty()) t.root = close(m);
  for (int& r : t.rows) r = order[r];
}

}  // namespace hedgerow
