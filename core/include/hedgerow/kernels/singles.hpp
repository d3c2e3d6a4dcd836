// Births and deaths of clusters of one row, by Metropolis–Hastings.
//
// A birth takes row i, drawn with fixed weights w, out of its cluster to stand alone; a death puts a row that stands alone,
// drawn evenly, into a cluster drawn from its full conditional. With o(i) the odds of a new cluster against all others in the
// full conditional of i, and s the number of rows alone once i is, a birth is accepted with probability
// min(1, o(i) Σw / (w_i s)) and the death that undoes it with the inverse ratio. Any weights are exact. With w near o the
// odds cancel, and a handful of moves renews the small clusters for which a sweep must visit every row.
#pragma once

#include "hedgerow/kernels/gibbs.hpp"

namespace hedgerow {

class Singles {
 public:
  void set_weights(const RowWatch& seen, int rows);  // how likely each row is to open a cluster; all alike where nothing was seen
  double total() const { return total_; }            // births that a sweep would make
  void step(State& state, Gibbs& gibbs, int moves);
  int births() const { return births_; }  // accepted in the last step
  int deaths() const { return deaths_; }

 private:
  int draw_row(Rng& rng) const;
  void birth(State& state, Gibbs& gibbs);
  void death(State& state, Gibbs& gibbs);

  std::vector<double> weight_, threshold_;
  std::vector<int> alias_;  // Walker's tables
  double total_ = 0.0;
  int alone_ = 0;  // clusters of one row
  int births_ = 0, deaths_ = 0;
};

}  // namespace hedgerow
