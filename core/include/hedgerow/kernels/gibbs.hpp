// Marginal Gibbs sampling (Lee & Choi 2015, section 2.2), over all rows or a uniform random subset.
#pragma once

#include "hedgerow/aligned.hpp"
#include "hedgerow/kernel.hpp"

namespace hedgerow {

class Gibbs final : public Kernel {
 public:
  // subset 0: every row, in row order. With explicit_bases a cluster's basis measure is drawn rather than summed out (the
  // baseline of Lee & Choi 2014, suppl. 60–61).
  explicit Gibbs(int subset = 0, bool explicit_bases = false) : subset_(subset), explicit_bases_(explicit_bases) {}
  void step(State& state) override;
  std::vector<std::string> stat_names() const override { return {"moved"}; }
  void stats(double* out) const override { out[0] = moved_; }

  void rest() { moved_ = 0.0; }  // an iteration without a sweep

  // Resamples the given rows in the given order; other kernels use this too.
  void sweep(State& state, const int* rows, int count);
  // The same in pieces, for kernels that keep something of their own in step: begin once, then draw a cluster for a row
  // (clusters() for a new one; its own when it stays) and move it there.
  void begin(State& state);
  int draw(State& state, int row);
  Partition::Moved move(State& state, int row, int chosen);

 private:
  int draw_basis(State& state, int t) const;

  int subset_;
  bool explicit_bases_, drawn_bases_ = false;
  std::vector<int> bases_;
  double moved_ = 0.0;
  JoinWeights weights_;
  AlignedVector<double> log_weight_;
  std::vector<int> order_;
};

// A first partition: rows in random order, each allocated from its full conditional given those before it.
void allocate_sequentially(State& state);

}  // namespace hedgerow
