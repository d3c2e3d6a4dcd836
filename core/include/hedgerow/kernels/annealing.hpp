// The part of a warm-up that looks for better modes than the one it is in.
//
// Where clusters are many and far apart in evidence (documents), every move that mends one loses hundreds of nats on its way:
// sweeps at a falling temperature find partitions that neither sweeps nor splits and merges reach. Whether those are better cannot
// be told at T = 1, where log joints of one mode vary more than modes differ: a few cold sweeps show how high the mode of a
// partition is. So three have their tops compared, where the chain started, what it climbed to and what heat found, and the chain
// goes on from the one with the highest, as it was before its cold sweeps, since a top can be far from where the mass is.
#pragma once

#include <vector>

#include "hedgerow/kernels/gibbs.hpp"

namespace hedgerow {

class Annealing {
 public:
  // What the coming iteration of a warm-up that is so far on (0 to 1) needs: may replace the partition and sets the heat.
  void follow(State& state, Gibbs& gibbs, double progress);
  // The warm-up may be shorter than announced.
  void end(State& state);
  double heat() const { return heat_; }
  int most_clusters(int rows) const;  // while the heat is not 1
  void save(Carried& out) const;
  void load(CarriedReader& in, int rows);

 private:
  enum Stage { unseen, climbing, top_of_start, top_of_climbed, heated, top_of_heated, top_of_best, over };
  static bool looks_for_top(Stage stage) { return stage == top_of_start || stage == top_of_climbed || stage == top_of_heated; }
  void enter(State& state, Stage stage);
  void begin_trial(State& state, std::vector<int> labels);
  void end_trial(State& state);

  Stage stage_ = unseen;
  double hottest_ = 1.0, heat_ = 1.0;
  std::vector<int> waiting_, tried_;  // partitions whose turn will come, and whose top is looked for
  std::vector<int> best_, top_;       // the one with the highest top so far, and that top
};

}  // namespace hedgerow
