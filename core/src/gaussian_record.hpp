// The sufficient statistics of one Gaussian cluster, as a view of the numbers they are kept in.
#pragma once

#include <span>

#include "packed.hpp"

namespace hedgerow {

// One slot as it lies in memory: n, log|Ψ_n|, mean[d], S[t], P[t] with t = d(d+1)/2.
template <int D>
class GaussianRecord {
 public:
  GaussianRecord(double* p, int d) : p_(p), d_(d) {}
  static int size(int d) { return 2 + d + 2 * packed::size(d); }
  double& n() const { return p_[0]; }
  double& logdet() const { return p_[1]; }
  double* mean() const { return p_ + 2; }
  double* scatter() const { return mean() + d(); }
  double* inverse() const { return scatter() + packed::size(d()); }
  std::span<double> all() const { return {p_, static_cast<std::size_t>(size(d()))}; }

 private:
  int d() const { return D > 0 ? D : d_; }
  double* p_;
  int d_;
};

}  // namespace hedgerow
