// Sums of ln Γ(a + b) over many b, at the price of one, where a is large next to every b.
//
// ln Γ(a + b) ~ (a + b − ½) ln a − a + ½ ln 2π + Σ_k (−1)^(k+1) B_(k+1)(b) / (k (k + 1) aᵏ) with Bernoulli polynomials B
// (Abramowitz and Stegun 6.1.40, for shifted arguments): the b are in the coefficients, which are summed once and for all.
#pragma once

#include <array>
#include <cmath>

#include "hedgerow/special.hpp"

namespace hedgerow {

class GammaSum {
 public:
  // One more term, sign · ln Γ(a + b).
  void add(double b, double sign = 1.0) {
    const double b2 = b * b, b3 = b2 * b, b4 = b2 * b2;
    count_ += sign;
    shift_ += sign * (b - 0.5);
    c_[0] += sign * (b2 - b + 1.0 / 6) / 2;
    c_[1] -= sign * (b3 - 1.5 * b2 + 0.5 * b) / 6;
    c_[2] += sign * (b4 - 2 * b3 + b2 - 1.0 / 30) / 12;
    c_[3] -= sign * (b4 * b - 2.5 * b4 + 5.0 / 3 * b3 - b / 6) / 20;
    c_[4] += sign * (b3 * b3 - 3 * b4 * b + 2.5 * b4 - 0.5 * b2 + 1.0 / 42) / 30;
  }

  // As good as the sum of its terms for a of kFar times the largest |b| and more.
  static constexpr double kFar = 256.0;
  double at(double a) const {
    const double i = 1.0 / a;
    const double series = i * (c_[0] + i * (c_[1] + i * (c_[2] + i * (c_[3] + i * c_[4]))));
    return (count_ * a + shift_) * std::log(a) - count_ * (a - 0.5 * kLog2Pi) + series;
  }

 private:
  double count_ = 0.0, shift_ = 0.0;
  std::array<double, 5> c_{};
};

}  // namespace hedgerow
