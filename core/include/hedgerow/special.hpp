// Special functions in logs: log-gamma with tables, log-sum-exp, univariate slice sampling.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hedgerow/rng.hpp"

namespace hedgerow {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kLog2Pi = 1.8378770664093454836;
inline constexpr double kLogPi = 1.1447298858494001741;

// ln Γ(x), x > 0, without the global `signgam` that makes std::lgamma a data race.
inline double lgamma(double x) {
  if (x < 12.0) {
    double product = 1.0;
    while (x < 12.0) {
      product *= x;
      x += 1.0;
    }
    return lgamma(x) - std::log(product);
  }
  const double i = 1.0 / x, i2 = i * i;
  const double series =
      i * (1.0 / 12 - i2 * (1.0 / 360 - i2 * (1.0 / 1260 - i2 * (1.0 / 1680 - i2 * (1.0 / 1188 - i2 * (691.0 / 360360 - i2 / 156))))));
  return (x - 0.5) * std::log(x) - x + 0.5 * kLog2Pi + series;
}

inline double log_add(double a, double b) {
  const double hi = std::max(a, b), lo = std::min(a, b);
  if (lo == -kInf) return hi;
  return hi + std::log1p(std::exp(lo - hi));
}

inline double log_sum(const double* x, int n) {
  double hi = -kInf;
  for (int i = 0; i < n; ++i) hi = std::max(hi, x[i]);
  if (hi == -kInf) return hi;
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += std::exp(x[i] - hi);
  return hi + std::log(sum);
}

// One univariate slice-sampling update: the interval is doubled until both its ends lie outside the slice, then shrunk; a proposal
// counts only if doubling from it could have found the same interval (Neal 2003, figures 4 to 6). Slices of any width cost a few
// dozen evaluations, where steps of fixed length, and with them any limit on their number, would not do.
template <class LogDensity>
class SliceUpdate {
 public:
  SliceUpdate(Rng& rng, double x, double width, const LogDensity& log_density)
      : rng_(rng), x_(x), width_(width), log_density_(log_density), level_(log_density(x) - rng.exponential()) {}

  double draw() {
    left_ = x_ - width_ * rng_.uniform();
    right_ = left_ + width_;
    if (level_ > -kInf) double_out();
    double left = left_, right = right_;
    for (;;) {
      const double proposal = left + (right - left) * rng_.uniform();
      if (log_density_(proposal) >= level_ && reversible(proposal)) return proposal;
      (proposal < x_ ? left : right) = proposal;
      if (!(right - left >= 1e-14 * (1.0 + std::abs(x_)))) return x_;  // so too where x is no finite number
    }
  }

 private:
  static constexpr int kDoublings = 200;  // e^138 widths; the test below keeps any limit exact

  bool inside(double x) const { return log_density_(x) > level_; }

  void double_out() {
    bool left_inside = inside(left_), right_inside = inside(right_);
    for (int i = 0; i < kDoublings && (left_inside || right_inside); ++i) {
      if (rng_.uniform() < 0.5)
        left_inside = inside(left_ -= right_ - left_);
      else
        right_inside = inside(right_ += right_ - left_);
    }
  }

  bool reversible(double proposal) const {
    double left = left_, right = right_;
    bool apart = false;
    while (right - left > 1.1 * width_) {
      const double middle = 0.5 * (left + right);
      if (!(left < middle && middle < right)) break;  // no number lies between: so far out the width is lost in rounding
      apart = apart || (x_ < middle) != (proposal < middle);
      (proposal < middle ? right : left) = middle;
      if (apart && !inside(left) && !inside(right)) return false;
    }
    return true;
  }

  Rng& rng_;
  double x_, width_, left_ = 0.0, right_ = 0.0;
  const LogDensity& log_density_;
  double level_;
};

template <class LogDensity>
double slice_update(Rng& rng, double x, double width, const LogDensity& log_density) {
  return SliceUpdate<LogDensity>(rng, x, width, log_density).draw();
}

// Draws an index with probability proportional to weights[i] >= 0, whose sum is `total`.
inline int draw_index(Rng& rng, const double* weights, int n, double total) {
  double left = rng.uniform() * total;
  for (int i = 0; i < n; ++i) {
    left -= weights[i];
    if (left < 0.0) return i;
  }
  for (int i = n - 1; i > 0; --i)
    if (weights[i] > 0.0) return i;
  return 0;
}

}  // namespace hedgerow
