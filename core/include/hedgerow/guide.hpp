// A fixed full binary tree over the rows, and the tree that it induces on any subset of them.
//
// T|m is T with the leaves outside m pruned and unary nodes suppressed. Its inner nodes are the lowest common ancestors of
// the members that are neighbours in depth-first order, so it is the Cartesian tree of those ancestors' depths. So is T itself: all
// that is kept of it is the order of its rows and, for every gap between two neighbours, the depth of the node that parts them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

// The induced tree of m rows. Position p = 0..m-1 is the p-th member in depth-first order; inner node k = 0..m-2 separates
// positions k and k+1 and spans positions begin[k]..end[k]-1, so its children are begin..k and k+1..end-1.
struct Induced {
  std::vector<int> rows;         // row at each position
  std::vector<int> begin, end;   // span of inner node k
  std::vector<int> left, right;  // child: an inner node, or ~position for a leaf
  std::vector<int> parent;       // inner node above, -1 for the root
  std::vector<int> gap;          // the guide's gap, and so its node, that k comes from
  std::vector<int> order;        // inner nodes, children before parents
  int root = -1;                 // -1 when m < 2

  int size(int k) const { return end[k] - begin[k]; }
};

class Guide {
 public:
  Guide() = default;
  // Nodes 0..n-1 are the rows, n..2n-2 the inner ones; left and right have 2n-1 entries, -1 at rows. Throws
  // std::invalid_argument when the arrays are not one binary tree over all rows. `nodes`, if asked for: the node of every gap.
  Guide(const std::vector<int>& left, const std::vector<int>& right, std::vector<int>* nodes = nullptr);
  // From a tree that is known to be one: its n-1 inner nodes with children that are inner nodes or ~row.
  static Guide of_tree(int root, const std::vector<int>& left, const std::vector<int>& right, std::vector<int>& nodes);

  int rows() const { return static_cast<int>(order.size()); }

  std::vector<int> rank;   // depth-first rank of each row
  std::vector<int> order;  // row of each rank

  // Induced tree of m distinct rows in any order: O(m) once sorted, and sorted by counting when m is not tiny. Of all rows: the guide.
  void induce(std::span<const int> rows, Induced& out) const;

 private:
  void lay_out(int root, const std::vector<int>& left, const std::vector<int>& right, std::vector<int>* nodes);
  void sort_by_rank(std::span<const int> rows, std::vector<int>& out) const;

  // By gap, the edges above its node; and for range minima of these: per block of 64 gaps a sparse table over blocks, and per gap the
  // set of prefix minima ending there.
  std::vector<int> gap_depth_;
  std::vector<std::uint64_t> stack_;
  std::vector<std::vector<int>> sparse_;
  int shallowest(int first_gap, int last_gap) const;
  int shallower(int a, int b) const { return gap_depth_[b] < gap_depth_[a] ? b : a; }
};

}  // namespace hedgerow
