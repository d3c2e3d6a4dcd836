// Marginal Gibbs sampling (Lee & Choi 2015, section 2.2), over all rows or a uniform random subset.
#pragma once

#include <span>

#include "hedgerow/aligned.hpp"
#include "hedgerow/kernel.hpp"

namespace hedgerow {

// What sweeps saw of each row's full conditional: running means of the chance to open a cluster, and of the chance to move at all.
struct RowWatch {
  void start(int rows);
  bool empty() const { return opening.empty(); }
  // What a visit counts next to those before, where a row is due in every so-many-th sweep.
  double rate(int row) const;
  std::vector<double> opening, moving;
  int sweeps = 0, turns = 1;
};

class Gibbs final : public Kernel {
 public:
  // subset 0: every row, in row order. With explicit_bases a cluster's basis measure is drawn rather than summed out (the
  // baseline of Lee & Choi 2014, suppl. 60–61).
  explicit Gibbs(int subset = 0, bool explicit_bases = false) : subset_(subset), explicit_bases_(explicit_bases) {}
  void step(State& state) override;
  std::vector<std::string> stat_names() const override { return {"moved"}; }
  void stats(double* out) const override { out[0] = moved_; }
  double moved() const { return moved_; }  // rows, in the last step

  void watch(RowWatch* watch) { watch_ = watch; }  // nullptr: no longer
  void rest() { moved_ = 0.0; }                    // an iteration without a sweep

  // Resamples the given rows in the given order; other kernels use this too.
  void sweep(State& state, std::span<const int> rows);
  // The same in pieces, for kernels that keep something of their own in step: begin once, then draw a cluster for a row
  // (clusters() for a new one; its own when it stays) and move it there.
  void begin(State& state);
  int draw(State& state, int row);
  // The full conditional of a row as weights w[0..K], w[K] for a new cluster, up to a common factor.
  const double* score(State& state, int row);
  Partition::Moved move(State& state, int row, int chosen);

  // For warm-ups: full conditionals to the power 1/heat, without new clusters once there are so many. Heat 1 is exact.
  void set_heat(double heat, int most_clusters) { inverse_heat_ = 1.0 / heat, most_clusters_ = most_clusters; }
  // The heat, 1 or more, at which a sweep would move about this share of the rows.
  double heat_that_moves(State& state, double share);
  // log p(x, c) − Σ_i log p(c_i | the rest): about the log mass of the mode that the partition is a draw of. The sum is what a mode
  // of many like partitions has over its log joint; a row in doubt between two clusters counts log 2.
  double log_mass(State& state);

 private:
  double* log_score(State& state, int row);
  int draw_basis(State& state, int t) const;

  int subset_;
  double inverse_heat_ = 1.0;
  int most_clusters_ = 0;
  bool explicit_bases_, drawn_bases_ = false;
  std::vector<int> bases_;
  double moved_ = 0.0, total_ = 0.0;
  RowWatch* watch_ = nullptr;
  JoinWeights weights_;
  AlignedVector<double> log_weight_;
  std::vector<int> order_;
};

// A first partition: rows whose label is below 0 in random order, each allocated from its full conditional given those that have a cluster.
void allocate_sequentially(State& state, const std::vector<int>& labels);

}  // namespace hedgerow
