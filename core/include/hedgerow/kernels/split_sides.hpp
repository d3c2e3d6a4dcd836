// The two halves of a cluster while a split is being proposed or replayed, outside the partition.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hedgerow/kernel.hpp"

namespace hedgerow {

class SplitSides {
 public:
  void attach(State& state);  // before each use; cheap when nothing changed
  void clear(int side);
  int size(int side) const { return size_[side]; }
  const double* log_q(int side) const { return q_[side].data(); }
  Statistics& statistics() { return *statistics_; }
  double log_phi(int side);  // log κ-weight + log p(X_side)

  void add(int side, int row);
  void remove(int side, int row, const std::vector<int>& rows, const std::vector<char>& side_of);

  // log φ_h(side ∪ row) − log φ_h(side), the row outside; and the same for a row inside, as if it had left.
  double score(int row, int side);
  double score_without(int row, int side);

  // A block of several rows at once.
  void set_block(std::span<const int> rows);
  void score_block(double* out);  // both sides
  void add_block(int side);

 private:
  double weight_step(int side, int count, const double* q) const;
  void add_q(std::vector<double>& q, int row, double sign) const;

  State* state_ = nullptr;
  const Likelihood* likelihood_ = nullptr;
  std::unique_ptr<Statistics> statistics_;  // slots 0 and 1: the sides, 2: the block
  int size_[2] = {0, 0};
  int block_size_ = 0;
  std::vector<double> q_[2], block_q_, work_;
};

}  // namespace hedgerow
