// A tree tried as two clusters: its largest subtrees are gathered into two sides, then rows change sides while that pays.
#pragma once

#include <utility>

#include "hedgerow/forest.hpp"

namespace hedgerow {

class TreeHalves {
 public:
  explicit TreeHalves(Forest& forest) : f_(forest), sums_(forest.likelihood().statistics(Layout::nodes)) {}

  // Whether the rows below `root` are better as two clusters than as one, as far as this search goes. With random numbers the sides
  // grow from two subtrees drawn at random, without them the subtrees are joined greedily.
  bool find(Ref root, Rng* rng);

  // What was found: inner nodes to be taken apart, parents first; the subtrees that are left; joins of these, by their numbers, into
  // two trees, each of which ends up at the lower number; the numbers of the two; and rows that are then on the wrong side.
  const std::vector<int>& above() const { return above_; }
  const std::vector<Ref>& blocks() const { return blocks_; }
  const std::vector<std::pair<int, int>>& joins() const { return joins_; }
  int side(int s) const { return slot_[s]; }
  struct Stray {
    int row, to;
  };
  const std::vector<Stray>& strays() const { return strays_; }

 private:
  void take_apart(Ref root);
  void load(int slot, Ref a);
  void gather();
  void gather_round_two(Rng& rng);
  void merge(int into, int other);
  double joined(int a, int b, double log_like) const;
  double potential(int slot) const;
  double weight(int m, const double* lq) const;
  int change_sides();

  Forest& f_;
  std::unique_ptr<Statistics> sums_;
  std::vector<int> above_;
  std::vector<Ref> blocks_;
  std::vector<std::pair<int, int>> joins_;
  std::vector<int> size_, side_of_;
  std::vector<double> log_q_, gain_, log_like_;
  int slot_[2] = {0, 0};
  std::vector<int> rows_;
  std::vector<char> at_, first_;
  std::vector<Stray> strays_;
};

}  // namespace hedgerow
