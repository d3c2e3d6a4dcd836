// Independent columns of counts, Poisson with a gamma base measure Gamma(λ|a, rate b). NaN marks a missing entry; it leaves
// the likelihood.
#pragma once

#include "hedgerow/counting.hpp"
#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class Poisson final : public Likelihood {
 public:
  Poisson(const double* x, int n, int d, const double* a, const double* b, double power = 1.0);

  int rows() const override { return n_; }
  int columns() const { return d_; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  std::unique_ptr<Portions> portions() const override;
  void append(const double* x, int n);
  void take(const Likelihood& other, const int* to) override;

  const double* row(int i) const { return x_.data() + static_cast<std::size_t>(i) * d_; }
  double log_factorials(int i) const { return log_factorials_[i]; }  // Σ_j ln x_ij!
  double a(int j) const { return shapes_.value(shape_of_[j]); }
  double b(int j) const { return rates_.value(rate_of_[j]); }
  // How many bits of exponent one factor a + S + x can take, up or down.
  int factor_bits() const { return factor_bits_; }

  // Log marginal of n counts of sum S in column j, without the factorials.
  double column(int j, double n, double sum) const {
    const auto entries = static_cast<std::int64_t>(n);
    const double log_rate = rates_.log_plus(rate_of_[j], entries);
    return shapes_.log_rising(shape_of_[j], static_cast<std::int64_t>(sum)) - power() * sum * log_rate -
           a(j) * (log_rate - rates_.log_plus(rate_of_[j], 0));
  }
  // lnΓ(shape + ζx) − lnΓ(shape).
  double rise(double shape, double x) const { return power() == 1.0 ? log_rising(shape, x) : log_rising_any(shape, power() * x); }
  double log_rate(int j, double n) const { return rates_.log_plus(rate_of_[j], static_cast<std::int64_t>(n)); }

 private:
  void derive(const int* rows, int n);  // what follows from these rows: tables, factorials, log p(x)

  int n_ = 0, d_, factor_bits_ = 0;
  double total_ = 0.0, smallest_, largest_;
  std::vector<int> shape_of_, rate_of_;
  std::vector<double> x_, log_factorials_;
  CountTables shapes_, rates_;
};

}  // namespace hedgerow
