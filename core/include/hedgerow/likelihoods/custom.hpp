// A user's conjugate family: additive statistics per row and one function, the log marginal of summed statistics.
#pragma once

#include <cstdint>
#include <functional>

#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class Custom final : public Likelihood {
 public:
  // Batched: `log_marginal(stats, k, m, out)` for k rows of m summed statistics. One function pointer call per row of a
  // batch costs nothing measurable next to the function itself, so compiled and interpreted families share this door.
  using LogMarginal = std::function<void(const double* stats, int k, int m, double* out)>;
  Custom(const double* stats, int n, int m, LogMarginal log_marginal, bool serial, double power = 1.0);

  int rows() const override { return n_; }
  int width() const { return m_; }
  bool serial() const override { return serial_; }
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  const double* row(int i) const { return stats_.data() + static_cast<std::size_t>(i) * m_; }
  void evaluate(const double* stats, int k, double* out) const;  // at sums times the power
  const LogMarginal& log_marginal() const { return log_marginal_; }
  void append(const double* stats, int n);
  void take(const Likelihood& other, const int* to) override;

 private:
  int n_ = 0, m_;
  std::vector<double> stats_;
  LogMarginal log_marginal_;
  bool serial_;
};

}  // namespace hedgerow
