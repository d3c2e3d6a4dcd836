// A kernel whose warm-up looks for better modes than the one it is in.
//
// Iterations of the warm-up that are not at temperature 1 sweep by themselves; all others, and every draw, are the kernel's own. So is a
// short warm-up: heat that falls too fast leaves worse partitions than it found.
//
// Where clusters are many and far apart in evidence (documents), every move that mends one loses hundreds of nats on its way:
// sweeps at a falling temperature find partitions that neither sweeps nor splits and merges reach. Whether the mode found has more
// mass than the one the chain had climbed to cannot be read off log joints, which know nothing of how many partitions a mode has:
// the two are compared by Gibbs::log_mass.
//
// In between, a few cold sweeps each climb to the top of the mode of the start, of what was climbed to and of what heat found, and
// a few more stay at the highest: where the highest log joint of a run is seen, though not where a mode has its mass.
#pragma once

#include <memory>
#include <vector>

#include "hedgerow/kernels/gibbs.hpp"

namespace hedgerow {

class Annealed final : public Kernel {
 public:
  explicit Annealed(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  void step(State& state) override;
  void adapt(State& state, double progress, int length) override;  // may replace the partition and sets the heat
  // The warm-up may be shorter than announced, and other kernels may have moved the partition since the last call.
  void end_warm_up(State& state) override;
  std::vector<std::string> stat_names() const override { return kernel_->stat_names(); }
  void stats(double* out) const override { kernel_->stats(out); }
  void save(Carried& out) const override;
  void load(State& state, CarriedReader& in) override;

 private:
  enum Stage { unseen, climbing, top_of_start, top_of_climbed, heated, top_of_heated, top_of_best, relaxing, over };
  static bool looks_for_top(Stage stage) { return stage == top_of_start || stage == top_of_climbed || stage == top_of_heated; }
  void enter(State& state, Stage stage, bool hot);
  void see_top(State& state);
  void keep_heavier(State& state, const std::vector<int>& kept);
  int most_clusters(int rows) const;  // while the heat is not 1

  std::unique_ptr<Kernel> kernel_;
  Gibbs gibbs_;
  Stage stage_ = unseen;
  double hottest_ = 1.0, heat_ = 1.0;
  std::vector<int> start_, kept_, found_, top_;  // where the chain started, what it climbed to, what heat found, the highest top
};

}  // namespace hedgerow
