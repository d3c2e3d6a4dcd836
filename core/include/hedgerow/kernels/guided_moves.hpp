// Splits and merges along guide trees by Metropolis–Hastings.
//
// A move picks a cluster c and merges it with c' with probability proportional to a(c,c') = φ(c∪c')/(φ(c)φ(c')), or splits it with
// probability proportional to 1. A proposal is a function of the partition, the guide and fresh random numbers alone, and a merge
// replays the split that would undo it: detailed balance holds for any guide, and a good one only makes moves happen often.
#pragma once

#include "hedgerow/kernels/guided_split.hpp"

namespace hedgerow {

class GuidedMoves {
 public:
  void step(State& state, const Guides& guides, int moves);  // and counts what happened in it
  static std::vector<std::string> stat_names() { return {"splits", "splits_accepted", "merges", "merges_accepted", "log_r"}; }
  void stats(double* out) const;
  int accepted() const { return split_accepts_ + merge_accepts_; }  // in the last step

 private:
  void move(State& state, const Guides& guides);
  void split(State& state, const WeightedGuide& guide, int c, int block_size);
  void merge(State& state, const WeightedGuide& guide, int a, int b, int block_size);
  // Log affinities a(slot, ·) of a slot against all clusters but those named; returns log(1 + Σ a).
  double affinities(State& state, int slot, int size, const double* lq, int skip_a, int skip_b, std::vector<double>& out);

  GuidedSplit split_;
  std::vector<int> others_, rows_;
  std::vector<double> merged_, affinity_, other_affinity_, log_phi_;
  double affinities_total_ = 0.0;  // log(1 + Σ a) of the cluster picked
  double log_r_sum_ = 0.0;
  int splits_ = 0, split_accepts_ = 0, merges_ = 0, merge_accepts_ = 0, log_r_count_ = 0;
};

}  // namespace hedgerow
