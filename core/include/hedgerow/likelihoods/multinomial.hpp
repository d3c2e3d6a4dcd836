// Multinomial likelihood with a symmetric Dirichlet base measure Dir(β), over sparse counts.
#pragma once

#include <cstdint>

#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class Multinomial final : public Likelihood {
 public:
  // CSR rows; counts are whole numbers. The multinomial coefficient of every row is part of its density.
  Multinomial(const std::int64_t* indptr, const std::int32_t* indices, const double* counts, int n, int columns, double beta,
              double power = 1.0);

  int rows() const override { return static_cast<int>(start_.size()); }
  int columns() const { return columns_; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  void append(const std::int64_t* indptr, const std::int32_t* indices, const double* counts, int n);
  void take(const Likelihood& other, const int* to) override;

  struct Cell {
    std::int32_t column, count;
  };
  const Cell* begin(int row) const { return cells_.data() + start_[row]; }
  const Cell* end(int row) const { return cells_.data() + start_[row] + length_[row]; }
  std::int64_t total(int row) const { return totals_[row]; }
  double coefficient(int row) const { return coefficients_[row]; }  // to the power
  double beta() const { return beta_; }
  std::int64_t grand_total() const { return grand_total_; }

  // lnΓ(β + ζc) − lnΓ(β), ζ the power.
  double log_rising(std::int64_t c) const;
  // lnΓ(Vβ) − lnΓ(Vβ + ζN): the normaliser of a cluster with N tokens.
  double log_normaliser(double tokens) const;
  // Γ(β + ζ(c + 1)) / Γ(β + ζc) for c = 0, 1, ..., which is β + c at power 1 and looked up at others.
  const std::vector<double>& factors() const { return factors_; }

 private:
  void compact();
  void grow_table();

  int columns_;
  double beta_, log_gamma_beta_, log_gamma_total_;
  std::vector<std::int64_t> start_;
  std::vector<std::int32_t> length_;
  std::vector<Cell> cells_;
  std::vector<std::int64_t> totals_;
  std::vector<double> coefficients_, table_, factors_;
  std::int64_t grand_total_ = 0, unused_ = 0;
};

}  // namespace hedgerow
