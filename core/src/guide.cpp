// Depth-first ranks, range minima of ancestors' depths, and induced trees as Cartesian trees.
#include "hedgerow/guide.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hedgerow {
namespace {
constexpr int kBlock = 64;
}

Guide::Guide(const std::vector<int>& left, const std::vector<int>& right, std::vector<int>* nodes) {
  const int total = static_cast<int>(left.size()), n = (total + 1) / 2;
  auto check = [](bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
  };
  check(right.size() == left.size() && total % 2 == 1, "a guide has 2n - 1 nodes");
  std::vector<char> below(total, 0);
  std::vector<int> sides[2];
  for (int side : {0, 1}) {
    sides[side].reserve(n - 1);
    for (int v = 0; v < total; ++v) {
      const int child = (side == 0 ? left : right)[v];
      if (v < n) {
        check(child == -1, "nodes 0..n-1 of a guide are leaves");
        continue;
      }
      check(child >= 0 && child < total && child != v && !below[child], "every node of a guide but the root has one parent");
      below[child] = 1;
      sides[side].push_back(child < n ? ~child : child - n);
    }
  }
  const int root = static_cast<int>(std::find(below.begin() + (n == 1 ? 0 : n), below.end(), 0) - below.begin());
  check(root < total, "a guide has a root");
  lay_out(n == 1 ? ~0 : root - n, sides[0], sides[1], nodes);
  check(rows() == n, "a guide is one tree");
  if (nodes)
    for (int& v : *nodes) v += n;
}

Guide Guide::of_tree(int root, const std::vector<int>& left, const std::vector<int>& right, std::vector<int>& nodes) {
  Guide guide;
  guide.lay_out(root, left, right, &nodes);
  return guide;
}

// Depth first without recursion: a caterpillar may be as deep as it has rows.
void Guide::lay_out(int root, const std::vector<int>& left, const std::vector<int>& right, std::vector<int>* nodes) {
  const int gaps = static_cast<int>(left.size());
  rank.assign(gaps + 1, 0);
  order.reserve(gaps + 1);
  gap_depth_.reserve(gaps);
  if (nodes) nodes->reserve(gaps);
  struct Step {
    int node, depth;
    bool between;  // its left side is done: the next row starts its right side
  };
  std::vector<Step> stack{{root, 0, false}};
  while (!stack.empty()) {
    const auto [v, depth, between] = stack.back();
    stack.pop_back();
    if (between) {
      gap_depth_.push_back(depth);
      if (nodes) nodes->push_back(v);
    } else if (v < 0) {
      rank[~v] = static_cast<int>(order.size());
      order.push_back(~v);
    } else {
      stack.push_back({right[v], depth + 1, false});
      stack.push_back({v, depth, true});
      stack.push_back({left[v], depth + 1, false});
    }
  }
  stack_.resize(gap_depth_.size());
  const int blocks = (static_cast<int>(gap_depth_.size()) + kBlock - 1) / kBlock;
  std::vector<int> best(blocks);
  for (int b = 0; b < blocks; ++b) {
    std::uint64_t held = 0;
    const int start = b * kBlock;
    best[b] = start;
    for (int g = start; g < std::min(static_cast<int>(gap_depth_.size()), start + kBlock); ++g) {
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

void Guide::sort_by_rank(std::span<const int> rows, std::vector<int>& out) const {
  const std::size_t m = rows.size();
  out.resize(m);
  // A bitmap costs n/64 words whatever m is; comparison sorting m·log m steps.
  if (m > 16 && m * std::bit_width(m) > order.size() / 32) {
    thread_local std::vector<std::uint64_t> marked;
    marked.assign((order.size() + 63) / 64, 0);
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
  for (auto* v : {&t.begin, &t.end, &t.left, &t.right, &t.parent, &t.gap}) v->resize(inner);
  t.order.clear();
  t.order.reserve(inner);
  t.root = -1;
  thread_local std::vector<int> open;  // the right spine of what is built so far
  const std::vector<int>& gap = t.gap;
  open.clear();
  auto close = [&](int end) {  // the deepest open node gets its span's end and leaves the spine
    const int k = open.back();
    open.pop_back();
    t.end[k] = end;
    t.order.push_back(k);
    return k;
  };
  for (int k = 0; k < inner; ++k) {
    t.gap[k] = shallowest(t.rows[k], t.rows[k + 1] - 1);
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
