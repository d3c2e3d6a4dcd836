// A cluster split in two along a guide tree: drawn, or replayed with the outcome known.
//
// A split of the rows m picks an inner node v of the induced tree T|m with weight ω_v, a seed i below its left and j below its right
// child (the pair law), and hands the blocks of the rest, in the order of the tree, to the side of i or of j by their evidence. The
// same description with the two sides known gives the probability that a split would have produced them, which a merge needs.
#pragma once

#include <memory>
#include <span>

#include "hedgerow/guide.hpp"
#include "hedgerow/kernels/split_sides.hpp"

namespace hedgerow {

// A guide with what its builder knew: P(not one cluster) of every node, by gap; may be empty.
struct WeightedGuide {
  Guide tree;
  std::vector<float> split_probability;
};
using Guides = std::vector<std::shared_ptr<const WeightedGuide>>;

class GuidedSplit {
 public:
  void attach(State& state) { sides_.attach(state); }
  // The rows to be split: their induced tree and its ω.
  void begin(const WeightedGuide& guide, std::span<const int> rows);

  // Seeds and sides drawn; log q, the probability of the sides given the seeds.
  double draw(Rng& rng, int block_size);

  // The sides as they are in a partition: rows of cluster b on the second.
  void set_sides(const Partition& partition, int b);
  // Seeds drawn from the pair law restricted to pairs that the sides separate; false if no split from them gives these sides.
  // log_separated() comes first.
  bool draw_seeds(Rng& rng, int block_size);
  // `log_p` plus log q of the sides given those seeds, or something lower than `least` once it is certain to be.
  double replay(double log_p, double least);

  // log s: the chance that the pair law separates the two sides.
  double log_separated();
  SplitSides& sides() { return sides_; }
  void second_side(std::vector<int>& out) const;  // its rows

 private:
  struct Block {
    int begin, end;
  };
  void list_blocks(int v, int block_size);
  void cut_into_blocks(int child, int block_size);
  void seed_sides();
  void choose(const Block& block, double* log_choice);  // log probabilities of the two sides
  void add_block(const Block& block, int side);
  int pick(Rng& rng, int begin, int end, int side, int count) const;

  Induced induced_;
  SplitSides sides_;
  int i_ = 0, j_ = 0;  // positions of the seeds
  double omega_total_ = 0.0, separated_ = 0.0;
  std::vector<double> omega_, pair_weight_;
  std::vector<Block> blocks_;
  std::vector<int> prefix_, pending_, hanging_;
  std::vector<char> side_of_;  // by position
};

}  // namespace hedgerow
