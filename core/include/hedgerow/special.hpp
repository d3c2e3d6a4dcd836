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

// log(1 - e^x) for x <= 0.
inline double log1m_exp(double x) { return x > -0.6931 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }

// One univariate slice-sampling update (Neal 2003: stepping out, then shrinking) on [lower, upper].
template <class LogDensity>
double slice_update(Rng& rng, double x, double width, const LogDensity& log_density, double lower = -kInf, double upper = kInf) {
  const double level = log_density(x) - rng.exponential();
  double left = x - width * rng.uniform();
  double right = left + width;
  for (int i = 0; i < 60 && left > lower && log_density(left) > level; ++i) left -= width;
  for (int i = 0; i < 60 && right < upper && log_density(right) > level; ++i) right += width;
  left = std::max(left, lower);
  right = std::min(right, upper);
  for (;;) {
    const double proposal = left + (right - left) * rng.uniform();
    if (log_density(proposal) >= level) return proposal;
    (proposal < x ? left : right) = proposal;
    if (!(right - left >= 1e-14 * (1.0 + std::abs(x)))) return x;  // so too where x is no finite number
  }
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
