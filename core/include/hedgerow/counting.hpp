// lnΓ(v + ζc) − lnΓ(v) and log(v + ζc) for a few values v and whole counts c, looked up as far as memory allows. ζ is the power that
// densities are raised to.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "hedgerow/special.hpp"

namespace hedgerow {

// start + lnΓ(z + h) − lnΓ(z), z >= 8, exact to rounding however large z is: the difference of two large lnΓ is never taken.
inline double log_rising_far(double start, double z, double h) {
  const auto series = [](double y) {
    const double i = 1.0 / y, i2 = i * i;
    return i *
           (1.0 / 12 - i2 * (1.0 / 360 - i2 * (1.0 / 1260 - i2 * (1.0 / 1680 - i2 * (1.0 / 1188 - i2 * (691.0 / 360360 - i2 / 156))))));
  };
  return start + h * std::log(z + h) + (z - 0.5) * std::log1p(h / z) - h + series(z + h) - series(z);
}

// lnΓ(a + x) − lnΓ(a) for a whole x >= 0.
inline double log_rising(double a, double x) {
  double product = 1.0;
  if (x <= 16.0) {
    for (double i = 0.0; i < x; i += 1.0) product *= a + i;
    return std::log(product);
  }
  for (double i = 0.0; i < 8.0; i += 1.0) product *= a + i;
  return log_rising_far(std::log(product), a + 8.0, x - 8.0);
}

// lnΓ(a + x) − lnΓ(a) for any x >= 0: both ends eight further up, where the series holds, and the way there as one quotient.
inline double log_rising_any(double a, double x) {
  double below = 1.0, above = 1.0;
  for (double i = 0.0; i < 8.0; i += 1.0) {
    below *= a + i;
    above *= a + x + i;
  }
  return log_rising_far(std::log(below / above), a + 8.0, x);
}

class CountTables {
 public:
  explicit CountTables(double power) : power_(power) {}

  // The number of v's table; equal values share one. All values are added before the first grow().
  int add(double v) {
    const auto [at, fresh] = known_.try_emplace(v, static_cast<int>(values_.size()));
    if (fresh) {
      values_.push_back(v);
      log_gamma_.push_back(lgamma(v));
    }
    return at->second;
  }

  // Counts up to `most` will be asked for. Room grows by doubling, so that a stream of rows pays for it once.
  void grow(std::int64_t most) {
    constexpr std::int64_t kCells = std::int64_t{1} << 19;
    const auto values = static_cast<std::int64_t>(values_.size());
    const std::int64_t limit = std::max<std::int64_t>(2, kCells / std::max<std::int64_t>(values, 1));
    if (size_ >= std::min(limit, most + 2)) return;
    size_ = std::min(limit, std::max(most + 2, 2 * size_));
    rising_.resize(static_cast<std::size_t>(values * size_));
    log_.resize(rising_.size());
    if (power_ != 1.0) step_.resize(rising_.size());
    for (std::int64_t t = 0, i = 0; t < values; ++t)
      for (std::int64_t c = 0; c < size_; ++c, ++i) {
        rising_[i] = lgamma(at(t, c)) - log_gamma_[t];
        log_[i] = std::log(at(t, c));
        if (power_ != 1.0) step_[i] = log_rising_any(at(t, c), power_);
      }
  }

  double value(int t) const { return values_[t]; }
  double log_rising(int t, std::int64_t c) const { return has(c) ? rising_[t * size_ + c] : lgamma(at(t, c)) - log_gamma_[t]; }
  double log_plus(int t, std::int64_t c) const { return has(c) ? log_[t * size_ + c] : std::log(at(t, c)); }
  // log_rising(c + 1) − log_rising(c).
  double log_step(int t, std::int64_t c) const {
    if (power_ == 1.0) return log_plus(t, c);
    return has(c) ? step_[t * size_ + c] : log_rising_any(at(t, c), power_);
  }

 private:
  double at(std::int64_t t, std::int64_t c) const { return values_[t] + power_ * static_cast<double>(c); }
  bool has(std::int64_t c) const {
    return static_cast<std::uint64_t>(c) < static_cast<std::uint64_t>(size_);
  }  // neither too large nor below 0

  std::map<double, int> known_;
  double power_;
  std::vector<double> values_, log_gamma_, rising_, log_, step_;
  std::int64_t size_ = 0;
};

}  // namespace hedgerow
