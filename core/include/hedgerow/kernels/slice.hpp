// Conditional slice sampling (Griffin & Walker 2011; Favaro & Teh 2013): weights and atoms of the measure made explicit.
//
// Given (Π, u) the measure has a known law: occupied atoms with weights Gamma(|c|−σ, u+τ) and, apart from them, a Poisson
// process of jumps with intensity e^(−uw)ρ(dw). Slice variables s_i < w_(c_i) make only jumps above min s_i matter, so finitely
// many are drawn, by adaptive thinning; then every row picks an atom among those with weight above its slice. The measure and
// the slices are dropped again, which leaves a kernel on partitions that needs nothing kept between iterations.
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
  double next_jump(State& state, double log_rate, double log_t) const;
  void offer(State& state, int id, double log_weight, const double* atom);

  double atoms_count_ = 0.0, moved_ = 0.0;
  std::vector<double> log_slice_, log_total_;
  std::vector<int> by_slice_, chosen_;
};

}  // namespace hedgerow
