// Gibbs sweeps that learn in the warm-up which rows ever move, and afterwards visit those in every sweep and the others in turns. Where
// rows are very many the sweeps of the warm-up do so too, but for the first.
//
// The lists depend on the warm-up alone and their turns on nothing: a fixed cycle of Gibbs updates, which is exact.
#pragma once

#include "hedgerow/kernels/gibbs.hpp"

namespace hedgerow {

class WatchedSweeps {
 public:
  // A sweep of the warm-up; what is seen counts once it is settled.
  void climb(State& state, bool settled);
  void fix_lists(int rows);  // without a warm-up every row is as doubtful as any other
  void turn(State& state);   // a sweep over the rows that are due
  double visited() const;    // rows in a sweep, on average

  Gibbs& gibbs() { return gibbs_; }
  const Gibbs& gibbs() const { return gibbs_; }
  const RowWatch& seen() const { return watch_; }
  void save(Carried& out) const;
  void load(CarriedReader& in, int rows, bool fixed);

 private:
  Gibbs gibbs_;
  RowWatch watch_;
  std::vector<int> doubtful_, steady_;  // rows visited in every sweep, and in one of a few
  std::vector<int> due_;
  int next_ = 0;          // whose turn it is
  bool settled_ = false;  // the watch is of the settled part
};

}  // namespace hedgerow
