// A few neighbouring clusters recast as one more or one fewer, by Metropolis–Hastings with their labels summed out.
//
// A move takes the rows of m clusters and fits m' to them (WindowFit), and m anew: what the state holds has no part in either fit. Of
// several sets of parameters drawn from the first fit one is chosen by its weight; the parameters of the present clusters, drawn given
// their rows, stand among as many drawn from the second. With mean weights Z' and Z the move is accepted with probability
//
//     min(1, Z'/Z · P(the new clusters are chosen | new partition) / P(the present ones are | this partition)),
//
// and rows then go to the new clusters independently; where one stays empty there is no move. Both sides would be drawn alike
// from the other end, with the two fits' roles exchanged, so that any fit is exact (multiple-try Metropolis with independent proposals, Liu,
// Liang and Wong 2000), and a good one makes the chance of a move the ratio of masses of all ways to have m' and m clusters there.
// Splits and merges by rows must get past the partitions in between; this does not.
#pragma once

#include <memory>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/kernel.hpp"
#include "hedgerow/kernels/window_fit.hpp"

namespace hedgerow {

class Recasts {
 public:
  void attach(State& state);
  // Whether rows of this kind can count in part, which moves take, as they take a measure of one group.
  bool possible() const { return portions_ != nullptr; }
  // Whether it has been seen to pay for such rows.
  bool pays() const { return possible() && portions_->pays(); }
  void move(State& state);
  // What a move costs on average, in looks at a row under a cluster.
  static double work(const Partition& partition);
  int proposed() const { return proposed_; }
  int accepted() const { return accepted_; }
  void forget() { proposed_ = accepted_ = 0; }

 private:
  void look_out(State& state, int row);
  void choose(State& state, int wanted);
  double log_chosen(State& state, const std::vector<int>& set);
  void place_present(State& state, double sigma);
  bool deal(State& state, const Placed& placed, int clusters);
  std::vector<int> put(State& state, int clusters);

  std::unique_ptr<Portions> portions_;
  const Likelihood* of_ = nullptr;
  WindowFit fit_;
  Placed present_, other_;
  std::vector<Placed> tries_;
  std::vector<int> taken_, rows_, chosen_, labels_, before_;
  std::vector<double> mine_, atom_;
  AlignedVector<double> named_;
  int proposed_ = 0, accepted_ = 0;
};

}  // namespace hedgerow
