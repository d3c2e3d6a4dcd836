// Gaussian likelihood with a normal–Wishart base measure: N(μ|m, (rΛ)⁻¹) W(Λ|Ψ⁻¹, ν).
//
// Rows are stored whitened, y = L⁻¹(x − m) with Ψ = LLᵀ, so that inside the core m = 0 and Ψ = I whatever the units
// and the offset of the data; log|L| per row restores densities of x.
#pragma once

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class GaussianWishart final : public Likelihood {
 public:
  GaussianWishart(const double* x, int n, int d, const double* mean, double r, double nu, const double* psi);

  int rows() const override { return n_; }
  int dimension() const { return d_; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;

  // More rows at the end; streams grow this way.
  void append(const double* x, int n);
  void take(const Likelihood& other, const int* to) override;

  const double* row(int i) const { return y_.data() + static_cast<std::size_t>(i) * d_; }
  double r() const { return r_; }
  double nu() const { return nu_; }
  double log_jacobian() const { return -log_det_l_; }  // log density of x over that of the whitened row
  double marginal_constant(int n) const;               // everything of log p(X_c) but −(ν+n)/2 log|Ψ_n|
  double predictive_constant(int n) const;             // everything of log p(x|X_c) but the terms in Ψ_n

 private:
  void whiten(const double* x, double* y) const;
  void grow_tables(int n);

  int n_ = 0, d_;
  double r_, nu_, log_det_l_ = 0.0;
  std::vector<double> mean_, chol_, y_;
  std::vector<double> marginal_table_, predictive_table_;
};

}  // namespace hedgerow
