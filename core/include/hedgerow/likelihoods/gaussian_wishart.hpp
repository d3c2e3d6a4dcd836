// Gaussian likelihood with a normal–Wishart base measure: N(μ|m, (rΛ)⁻¹) W(Λ|Ψ⁻¹, ν).
//
// Rows are stored whitened, y = L⁻¹(x − m) with Ψ = LLᵀ, so that inside the core m = 0 and Ψ = I whatever the units
// and the offset of the data; log|L| per row restores densities of x.
//
// Densities raised to a power ζ take nothing more: Ψ + ζS + rζn/(r + ζn) x̄x̄ᵀ = ζ(Ψ/ζ + S + (r/ζ)n/(r/ζ + n) x̄x̄ᵀ), so that Ψ and r are
// divided by ζ once and for all, and only degrees of freedom count rows as ζ of one.
//
// Entries may be missing (NaN). Such a row stands where its missing entries are those of m; a filling moves it by Σ_j s_j L⁻¹e_j over
// its missing columns j. Fillings belong to the object, rows without gaps are shared among its forks.
#pragma once

#include "hedgerow/aligned.hpp"
#include "hedgerow/gamma_sum.hpp"
#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class GaussianWishart final : public Likelihood {
 public:
  GaussianWishart(const double* x, int n, int d, const double* mean, double r, double nu, const double* psi, double power = 1.0);

  int rows() const override { return n_; }
  int dimension() const { return d_; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  std::unique_ptr<Portions> portions() const override;

  // More rows at the end; streams grow this way.
  void append(const double* x, int n);
  void take(const Likelihood& other, const int* to) override;

  std::vector<int> imputed_rows() const override;
  std::shared_ptr<Likelihood> fork() const override;
  void save_filling(int row, std::vector<double>& out) const override;
  std::span<const double> load_filling(int row, std::span<const double> in) const override;

  const double* row(int i) const { return has_gaps(i) ? gaps_[gap_of_[i]].y.data() : as_it_came(i); }
  bool has_gaps(int i) const { return !gap_of_.empty() && gap_of_[i] >= 0; }
  const double* as_it_came(int i) const { return y_->data() + static_cast<std::size_t>(i) * d_; }  // gaps at the base measure's mean
  const std::vector<int>& missing(int i) const { return gaps_[gap_of_[i]].columns; }
  const double* axis(int j) const { return axes_.data() + static_cast<std::size_t>(j) * d_; }  // L⁻¹e_j
  bool upright() const { return upright_; }                                                    // Ψ is diagonal, and so are the axes
  void fill(int i, std::span<const double> shift) const;                                       // missing entries less those of m
  double r() const { return r_; }                                                              // over the power, as Ψ is
  double freedom(double n) const { return nu_ + power_ * n; }                                  // of n rows
  double log_jacobian() const { return -log_det_l_; }  // log density of x over that of the whitened row
  double marginal_constant(int n) const;               // everything of log p(X_c) but −(ν+n)/2 log|Ψ_n|
  double marginal_constant_of(double n) const;         // the same where rows count in part
  double predictive_constant(int n) const;             // everything of log p(x|X_c) but the terms in Ψ_n

 private:
  struct Gap {
    std::vector<int> columns;
    std::vector<double> shift, y;
  };
  void whiten(const double* z, double* y) const;  // L⁻¹z
  void note_gaps(int i, std::vector<int> columns);
  void set_single(int i) const;
  void own_rows(int n);
  void grow_tables(int n);

  int n_ = 0, d_;
  double r_, nu_, log_det_l_ = 0.0;
  bool upright_ = true;
  std::vector<double> mean_, chol_, axes_;
  std::shared_ptr<std::vector<double>> y_ = std::make_shared<std::vector<double>>();
  std::vector<int> gap_of_;  // by row, -1 for none; empty as long as nothing is missing
  mutable std::vector<Gap> gaps_;
  std::vector<double> marginal_table_, predictive_table_;
  std::int64_t came_ = 0;  // rows, those included that others have taken the place of
  // Clusters of so many rows and more have their constants from these, in as little time whatever the number of columns.
  int far_from_;
  double log_gammas_ = 0.0;  // Σ_j ln Γ((ν − j)/2)
  GammaSum gammas_, step_;   // Σ_j ln Γ(a − j/2), and what one more row adds to it
};

}  // namespace hedgerow
