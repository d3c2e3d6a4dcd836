// A fixed full binary tree over the rows, and the tree that it induces on any subset of them.
//
// T|m is T with the leaves outside m pruned and unary nodes suppressed. Its inner nodes are the lowest common ancestors of
// the members that are neighbours in depth-first order, so it is the Cartesian tree of those ancestors' depths.
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
  std::vector<int> node;         // the guide's node that k comes from
  std::vector<int> order;        // inner nodes, children before parents
  int root = -1;                 // -1 when m < 2

  int size(int k) const { return end[k] - begin[k]; }
};

class Guide {
 public:
  Guide() = default;
  // Nodes 0..n-1 are the rows, n..2n-2 the inner ones; left and right have 2n-1 entries, -1 at rows. Throws
  // std::invalid_argument when the arrays are not one binary tree over all rows.
  Guide(std::vector<int> left, std::vector<int> right);

  int rows() const { return n_; }
  int nodes() const { return static_cast<int>(left.size()); }
  int root() const { return root_; }

  std::vector<int> left, right, parent;
  std::vector<int> depth;  // edges above each node
  std::vector<int> size;   // rows below each node
  std::vector<int> first;  // depth-first rank of the first row below each node; its rows have ranks first..first+size-1
  std::vector<int> rank;   // depth-first rank of each row
  std::vector<int> order;  // row of each rank

  // Lowest common ancestor of the rows with these ranks, in O(1).
  int ancestor(int rank_a, int rank_b) const;

  // Induced tree of m distinct rows in any order: O(m) once sorted, and sorted by counting when m is not tiny.
  void induce(std::span<const int> rows, Induced& out) const;

 private:
  void sort_by_rank(std::span<const int> rows, std::vector<int>& out) const;

  int n_ = 0, root_ = -1;
  // Lowest common ancestors of neighbouring ranks, and for range minima of their depths: per block of 64 gaps a sparse table
  // over blocks, and per gap the set of prefix minima ending there.
  std::vector<int> gap_node_, gap_depth_;
  std::vector<std::uint64_t> stack_;
  std::vector<std::vector<int>> sparse_;
  int shallowest(int first_gap, int last_gap) const;
  int shallower(int a, int b) const { return gap_depth_[b] < gap_depth_[a] ? b : a; }
};

}  // namespace hedgerow
