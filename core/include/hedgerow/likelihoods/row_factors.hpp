// A fixed factor for the density of every row, the same in all clusters: the Jacobian of a change of scale.
#pragma once

#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class RowFactors final : public Likelihood {
 public:
  RowFactors(const double* logs, int n, double power = 1.0);

  int rows() const override { return static_cast<int>(logs_.size()); }
  double log_factor(int row) const { return logs_[row]; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  std::unique_ptr<Portions> portions() const override;
  void take(const Likelihood& other, const int* to) override;

 private:
  std::vector<double> logs_;
};

}  // namespace hedgerow
