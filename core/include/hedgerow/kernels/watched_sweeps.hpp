// Gibbs sweeps that learn in the warm-up which rows ever move, and afterwards visit those in every sweep and the others in turns.
//
// The lists depend on the warm-up alone and their turns on nothing: a fixed cycle of Gibbs updates, which is exact.
#pragma once

#include "hedgerow/kernels/gibbs.hpp"

namespace hedgerow {

class WatchedSweeps {
 public:
  void all(State& state, bool watched);  // a sweep over all rows, perhaps to learn from
  void fix_lists(int rows);              // without a warm-up every row is as doubtful as any other
  void turn(State& state);               // a sweep over the rows that are due
  double visited() const;                // rows in a sweep, on average

  Gibbs& gibbs() { return gibbs_; }
  const Gibbs& gibbs() const { return gibbs_; }
  const RowWatch& seen() const { return watch_; }
  void save(Carried& out) const;
  void load(CarriedReader& in, int rows, bool fixed);

 private:
  Gibbs gibbs_;
  RowWatch watch_;
  std::vector<int> doubtful_, steady_;  // rows visited in every sweep, and in one of a few
  int next_ = 0;                        // whose turn it is
};

}  // namespace hedgerow
