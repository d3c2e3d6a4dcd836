// Priors whose partitions have a law in closed form: normalized measures whose α has a law of its own and is summed out with u.
#pragma once

#include <string_view>
#include <vector>

#include "hedgerow/measure_state.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

// Weights of one more point: an existing cluster of m points (m − σ)·join, a new one `fresh`.
struct Predictive {
  double join, fresh;
};

// One object a prior, without state: that of the measure is handed in. n points are in clusters of these sizes.
class ClosedForm {
 public:
  using Sizes = std::vector<int>;
  virtual ~ClosedForm() = default;
  virtual void start(MeasureState& state) const = 0;                         // τ, and a first α
  virtual double draw_alpha(Rng& rng, const MeasureState& state) const = 0;  // before any data
  virtual double log_partition(const MeasureState& state, int n, const Sizes& sizes) const = 0;
  virtual Predictive predictive(const MeasureState& state, double n, double clusters) const = 0;
  virtual void update_u(Rng& rng, MeasureState& state, int n, const Sizes& sizes) const = 0;  // and α
  // Those that have laws; u and α follow.
  virtual void update_hyper(Rng& rng, MeasureState& state, const Prior& prior, int n, const Sizes& sizes) const = 0;
};

// The prior of that name, nullptr where there is none.
const ClosedForm* closed_form(std::string_view name);

// log p(Π) under Pitman–Yor(θ, σ); θ = 0 is the normalized stable process.
double log_pitman_yor(int n, const std::vector<int>& sizes, double theta, double sigma);

}  // namespace hedgerow
