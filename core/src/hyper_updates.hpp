// Slice updates of one hyper-parameter under its law, held at the edge of the floats.
#pragma once

#include <algorithm>
#include <cmath>

#include "hedgerow/measure_state.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

inline constexpr double kLeast = 1e-300;  // α and θ below are held here: their law there is that of the smallest x, e^(a log x)
inline constexpr double kEdge = 1e-12;    // σ nearer to 0 or 1 is held here: the partition's law does not change any more

// x > 0 under a Gamma law and a factor that tends to a constant at 0, by its logarithm.
template <class LogFactor>
double update_positive(Rng& rng, const Law& law, double x, const LogFactor& log_factor) {
  double v = std::log(x);
  if (x <= kLeast) v -= rng.exponential() / law.a;
  v = slice_update(rng, v, 1.0,
                   [&](double at) { return law.a * at - law.b * std::exp(at) + log_factor(std::max(kLeast, std::exp(at))); });
  return std::max(kLeast, std::exp(v));
}

// x in (0, 1) under a Beta law and a factor that tends to a constant at both ends, by its logit.
template <class LogFactor>
double update_fraction(Rng& rng, const Law& law, double x, const LogFactor& log_factor) {
  auto fraction = [](double v) { return std::clamp(1.0 / (1.0 + std::exp(-v)), kEdge, 1.0 - kEdge); };
  double v = std::log(x) - std::log1p(-x);
  if (x <= kEdge) v -= rng.exponential() / law.a;
  if (x >= 1.0 - kEdge) v += rng.exponential() / law.b;
  v = slice_update(rng, v, 1.0,
                   [&](double at) { return -law.a * log_add(0.0, -at) - law.b * log_add(0.0, at) + log_factor(fraction(at)); });
  return fraction(v);
}

}  // namespace hedgerow
