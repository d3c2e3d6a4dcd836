// Exact tree-guided sampling: splits and merges along guides, births and deaths of single rows, and a Gibbs sweep an iteration.
#pragma once

#include "hedgerow/kernels/guide_growth.hpp"
#include "hedgerow/kernels/guided_moves.hpp"
#include "hedgerow/kernels/recasts.hpp"
#include "hedgerow/kernels/singles.hpp"
#include "hedgerow/kernels/watched_sweeps.hpp"

namespace hedgerow {

class TreeGuided final : public Kernel {
 public:
  // global_moves kTuned: 20 to 100 in the warm-up, where they do the climbing, and then so many that they cost a small part of a sweep.
  // recasts kTuned: up to one and a half sweeps of work, less the rarer they succeed and the fewer rows are in doubt.
  // single_moves kTuned: none in the warm-up, which finds out where they pay, and then enough to renew the clusters of one row.
  static constexpr int kTuned = -1;
  TreeGuided(Guides given, GuideSource grown, int global_moves, int single_moves, double recasts, double sweep_rate);
  // The same with a part of its warm-up at other temperatures, where there are sweeps.
  static std::unique_ptr<Kernel> annealed(Guides given, GuideSource grown, int global_moves, int single_moves, double recasts,
                                          double sweep_rate);

  void step(State& state) override;
  void adapt(State& state, double progress, int length) override;
  // What the warm-up saw fixes which rows are visited and how many moves are made.
  void end_warm_up(State& state) override;
  std::vector<std::string> stat_names() const override;
  void stats(double* out) const override;
  void save(Carried& out) const override;  // the guides grown so far and what was seen of each row
  void load(State& state, CarriedReader& in) override;

 private:
  static constexpr int kMostClimbing = 100;
  void recast(State& state);
  int tuned_recasts(const State& state, double visited, double moving) const;
  static int tuned_moves(const State& state, double visited, double share, double least, double most);

  GuideGrowth growth_;
  GuidedMoves moves_;
  Recasts recasts_;
  Singles singles_;
  WatchedSweeps sweeps_;
  int global_moves_, single_moves_;
  double recasts_wanted_, sweep_rate_;
  bool drawing_ = false;  // the warm-up is over
  bool settled_ = false;  // it is in its last part
  // Moves of the next iteration. A warm-up in which none is accepted soon proposes fewer.
  int moves_each_ = kMostClimbing, singles_each_ = 0, recasts_each_ = 0;  // recasts in thousandths
  int recasts_made_ = 0, recasts_accepted_ = 0;                           // of late, in the warm-up
  int moved_ = 0;                                                         // rows, in the last sweep of the warm-up
};

}  // namespace hedgerow
