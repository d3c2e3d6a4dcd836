// Independent Gaussian columns, each with a normal–gamma base measure N(μ|m, 1/(rλ)) Gamma(λ|a, rate b).
// NaN marks a missing entry; it leaves the likelihood. Rows are stored as (x − m)/√b.
#pragma once

#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class GaussianDiagonal final : public Likelihood {
 public:
  GaussianDiagonal(const double* x, int n, int d, const double* mean, const double* r, const double* a, const double* b,
                   double power = 1.0);

  int rows() const override { return n_; }
  int dimension() const { return d_; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  std::unique_ptr<Portions> portions() const override;
  void append(const double* x, int n);
  void take(const Likelihood& other, const int* to) override;

  const double* row(int i) const { return y_.data() + static_cast<std::size_t>(i) * d_; }
  double r(int j) const { return r_[j]; }
  double a(int j) const { return a_[j]; }
  double log_scale(int j) const { return log_scale_[j]; }
  double log_gamma_half(int j, double n) const;  // lnΓ(a_j + ζn/2)
  // Same a for every column and nothing missing: logs can be shared between columns.
  bool even() const { return even_; }
  // Log marginal of one column's (n, mean, S), and the same without the log of the scale when it is shared.
  double column_constant(int j, double n) const;

 private:
  void grow_tables();

  int n_ = 0, d_;
  std::vector<double> mean_, r_, a_, scale_, log_scale_, y_;
  std::vector<int> table_of_;
  std::vector<double> table_a_;
  std::vector<std::vector<double>> tables_;
  bool even_ = true;
};

}  // namespace hedgerow
