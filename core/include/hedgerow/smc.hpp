// Sequential Monte Carlo over rows: particles (Π, u, hyper-parameters), an unbiased estimate of the evidence p(X).
//
// Row i+1 is allocated from its full conditional; the incremental weight is (u/i)·[κ(1,u)p(x) + Σ_c κ(|c|+1,u)/κ(|c|,u)·p(x|X_c)].
// Particles are resampled when their effective number falls, and u and the sampled hyper-parameters then move by steps that leave
// the present posterior invariant. The Dirichlet process has u integrated out: 1/(α + i) stands for u/i. A mixed measure's group
// starts with a draw of its ξ_t from a grid that follows its conditional, corrected by its weight.
#pragma once

#include "hedgerow/kernel.hpp"

namespace hedgerow {

struct SmcResult {
  double log_evidence = 0.0;
  std::vector<double> log_weights;  // of the particles at the end, normalised
  std::vector<int> labels;          // particles × rows, canonical
  std::vector<double> log_joint;
  std::vector<MeasureState> measures;  // one per particle
  std::vector<int> first_ancestors;    // index at the start of each particle's line
  int resamplings = 0;
  std::vector<double> effective;  // after each row
};

// Rows come group by group, in the given order or shuffled within the group. log_u and alpha hold one value per group and per
// basis measure for each particle.
SmcResult smc(const Likelihood& likelihood, const Prior& prior, const std::vector<int>& groups, int particles, double threshold,
              std::uint64_t seed, std::uint64_t sequence, bool shuffle);

}  // namespace hedgerow
