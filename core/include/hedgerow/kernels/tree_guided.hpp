// Exact tree-guided split–merge: proposals follow fixed guide trees and are corrected exactly.
//
// A proposal is a function of the partition, the guide and fresh random numbers alone. A split of cluster m picks an inner
// node v of the induced tree T|m with weight ω_v, seeds i below its left and j below its right child, and allocates the
// blocks of the rest, in the order of the tree, to the side of i or of j by their evidence. A merge replays the split that
// would undo it. What is accepted satisfies detailed balance for any guide; a good guide only makes it happen often.
#pragma once

#include <memory>

#include "hedgerow/guide.hpp"
#include "hedgerow/kernels/annealing.hpp"
#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/kernels/sides.hpp"
#include "hedgerow/kernels/singles.hpp"

namespace hedgerow {

// A guide with what its builder knew: P(not one cluster) of every node, 0 where unknown.
struct WeightedGuide {
  Guide tree;
  std::vector<double> split_probability;  // per node, may be empty
};

// A guide from the data: one pass of incremental clustering over the rows in random order, the roots then joined greedily past
// d = 1. It looks at the measure of the state, never at its partition; the first one at a measure that suits one cluster, where
// hyper-parameters are still to be drawn.
// `roots`, if asked for: the partition that the pass ended with.
std::shared_ptr<const WeightedGuide> grow_guide(State& state, bool first, std::vector<int>* roots = nullptr);

class TreeGuided final : public Kernel {
 public:
  using Guides = std::vector<std::shared_ptr<const WeightedGuide>>;
  // Given guides stay as they are. Otherwise `grown` of them are made before the first step, and anew at a few points of the
  // warm-up, since they depend on hyper-parameters that are still settling.
  //
  // global_moves kTuned: 20 to 100 in the warm-up, where they do the climbing, and then so many that they cost a small part of a sweep.
  // single_moves kTuned: none in the warm-up, which finds out where they pay, and then enough to renew the clusters of one row.
  // anneal: a part of the warm-up sweeps at a falling temperature.
  static constexpr int kTuned = -1;
  TreeGuided(Guides given, int grown, int global_moves, int single_moves, bool anneal, double sweep_rate);

  void step(State& state) override;
  void adapt(State& state, double progress) override;
  // What the warm-up saw fixes which rows are visited and how many moves are made.
  void end_warm_up(State& state) override;
  std::vector<std::string> stat_names() const override;
  void stats(double* out) const override;
  void save(Carried& out) const override;  // the guides grown so far
  void load(State& state, CarriedReader& in) override;

 private:
  struct Block {
    int begin, end;
  };
  void global_move(State& state);
  void split(State& state, const WeightedGuide& guide, int c, int block_size);
  void merge(State& state, const WeightedGuide& guide, int a, int b, int block_size);

  // Log affinities a(slot, ·) of a slot against all clusters but those named; returns log(1 + Σ a).
  double affinities(State& state, int slot, int size, const double* lq, int skip_a, int skip_b, double* out);
  void node_weights(const WeightedGuide& guide);
  void list_blocks(int v, int i, int j, int block_size);
  void cut_into_blocks(int child, int block_size);
  void block_scores(const Block& block, double* out);
  void add_block(const Block& block, int side);
  void seed_sides(int i, int j);
  int pick(Rng& rng, int begin, int end, int side, int count) const;

  void grow(State& state, int count, bool offer);
  static int tuned_moves(const State& state, double visited, double share, double least, double most);
  void sort_rows(int rows);
  void sweep(State& state);

  Guides guides_;
  int grown_, growths_ = 0;
  int global_moves_, single_moves_;
  bool anneal_;
  double sweep_rate_;
  bool drawing_ = false;              // the warm-up is over
  int moves_ = 0, singles_each_ = 0;  // moves an iteration from then on
  Gibbs gibbs_;
  Singles singles_;
  RowWatch watch_;
  std::vector<int> doubtful_, steady_;  // rows visited in every sweep, and in one of a few
  int next_steady_ = 0;
  Annealing annealing_;

  Induced induced_;
  std::vector<double> omega_;
  std::vector<Block> blocks_;
  std::vector<int> others_, prefix_;
  std::vector<int> leaving_, pending_;
  std::vector<double> merged_, affinity_, merged_affinity_, log_phi_, pair_weight_;
  double affinities_total_ = 0.0;  // log(1 + Σ a) of the cluster picked
  Sides sides_;
  std::vector<char> side_of_;
  double log_r_sum_ = 0.0;
  int splits_ = 0, split_accepts_ = 0, merges_ = 0, merge_accepts_ = 0, log_r_count_ = 0;
};

}  // namespace hedgerow
