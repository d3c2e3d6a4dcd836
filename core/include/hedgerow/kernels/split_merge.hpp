// Split–merge with restricted Gibbs scans (Jain & Neal 2004), extended to normalized random measures through κ.
#pragma once

#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/kernels/split_sides.hpp"

namespace hedgerow {

class SplitMerge final : public Kernel {
 public:
  SplitMerge(int scans, int subset) : scans_(scans), gibbs_(subset) {}
  void step(State& state) override;  // one proposal, then a Gibbs sweep over all rows or a random subset
  std::vector<std::string> stat_names() const override;
  void stats(double* out) const override;

 private:
  void propose(State& state);
  // One restricted scan over rows_; returns the log probability of what it chose. With `forced` it takes those sides instead.
  double scan(State& state, const std::vector<char>* forced);

  int scans_;
  Gibbs gibbs_;
  SplitSides sides_;
  std::vector<int> rows_;  // members of the two clusters but the seeds, then the seeds
  std::vector<char> side_of_;
  double split_ = 0.0, accepted_ = 0.0, log_r_ = 0.0;
};

}  // namespace hedgerow
