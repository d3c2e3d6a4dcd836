// The conditional sampler: weights and atoms of the measure made explicit for the clusters there are.
//
// Given (Π, u) the measure has a known law: occupied atoms with weights Gamma(|c|−σ, u+τ) and, apart from them, a Poisson process of
// jumps. Slice samplers (Griffin & Walker 2011; Favaro & Teh 2013) draw the jumps above random levels, of which there are millions
// when σ is near 1. Here rows choose among the occupied atoms, and what a jump without rows could give a row is integrated out:
// κ(1, u) p(x) for a cluster of its own. src/seats.hpp says who may choose what, so that this is exact. The measure is dropped
// again, which leaves a kernel on partitions that needs nothing kept between iterations.
#pragma once

#include "hedgerow/kernel.hpp"

namespace hedgerow {

class Slice final : public Kernel {
 public:
  void step(State& state) override;
  std::vector<std::string> stat_names() const override { return {"atoms", "moved"}; }
  void stats(double* out) const override {
    out[0] = atoms_count_;
    out[1] = moved_;
  }

 private:
  double atoms_count_ = 0.0, moved_ = 0.0;
};

}  // namespace hedgerow
