// The part of a warm-up that looks for better modes than the one it is in.
//
// Where clusters are many and far apart in evidence (documents), every move that mends one loses hundreds of nats on its way:
// sweeps at a falling temperature find partitions that neither sweeps nor splits and merges reach. Whether the mode found has more
// mass than the one the chain had climbed to cannot be read off log joints, which know nothing of how many partitions a mode has:
// the two are compared by Gibbs::log_mass.
//
// In between, a few cold sweeps each climb to the top of the mode of the start, of what was climbed to and of what heat found, and
// a few more stay at the highest: where the highest log joint of a run is seen, though not where a mode has its mass.
#pragma once

#include <vector>

#include "hedgerow/kernels/gibbs.hpp"

namespace hedgerow {

// Takes whichever of the two partitions, this one or the state's, has the higher joint density.
void take_higher(State& state, const std::vector<int>& labels);

class Annealing {
 public:
  // What the coming iteration of a warm-up that is so far on (0 to 1) needs: may replace the partition and sets the heat.
  void follow(State& state, Gibbs& gibbs, double progress);
  // The warm-up may be shorter than announced, and other kernels may have moved the partition since the last call.
  void end(State& state, Gibbs& gibbs);
  double heat() const { return heat_; }
  int most_clusters(int rows) const;  // while the heat is not 1
  void save(Carried& out) const;
  void load(CarriedReader& in, int rows);

 private:
  enum Stage { unseen, climbing, top_of_start, top_of_climbed, heated, top_of_heated, top_of_best, relaxing, over };
  static bool looks_for_top(Stage stage) { return stage == top_of_start || stage == top_of_climbed || stage == top_of_heated; }
  void enter(State& state, Gibbs& gibbs, Stage stage, bool hot);
  void see_top(State& state);
  static void keep_heavier(State& state, Gibbs& gibbs, const std::vector<int>& kept);

  Stage stage_ = unseen;
  double hottest_ = 1.0, heat_ = 1.0;
  std::vector<int> start_, kept_, found_, top_;  // where the chain started, what it climbed to, what heat found, the highest top
};

}  // namespace hedgerow
