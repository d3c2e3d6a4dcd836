// Priors in closed form, one class each, and their names. Formulas of Pitman & Yor 1997; symbols as in measure.hpp.
#include "hedgerow/closed_form.hpp"

#include <cmath>
#include <stdexcept>

#include "hyper_updates.hpp"

namespace hedgerow {

double& MeasureState::operator[](std::string_view name) {
  for (Own& one : own)
    if (one.name == name) return one.value;
  throw std::out_of_range("no hyper-parameter has this name");
}

double log_pitman_yor(int n, const std::vector<int>& sizes, double theta, double sigma) {
  double total = lgamma(theta + 1.0) - lgamma(theta + n) - static_cast<double>(sizes.size()) * lgamma(1.0 - sigma);
  for (std::size_t k = 1; k < sizes.size(); ++k) total += std::log(theta + sigma * static_cast<double>(k));
  for (int m : sizes) total += lgamma(m - sigma);
  return total;
}

namespace {

// α ~ Gamma(θ/σ, rate 1/σ) at τ = 1.
class PitmanYor : public ClosedForm {
 public:
  virtual double theta(const MeasureState& state) const { return state["theta"]; }

  void start(MeasureState& state) const override {
    state.tau = 1.0;
    state.alpha[0] = std::max(theta(state), 1e-3);  // the first update draws it from its conditional
  }

  double draw_alpha(Rng& rng, const MeasureState& state) const override {
    return std::exp(rng.log_gamma_variate(theta(state) / state.sigma) + std::log(state.sigma));
  }

  double log_partition(const MeasureState& state, int n, const Sizes& sizes) const override {
    return log_pitman_yor(n, sizes, theta(state), state.sigma);
  }

  Predictive predictive(const MeasureState& state, double n, double clusters) const override {
    const double strength = theta(state);
    return {1.0 / (strength + n), (strength + state.sigma * clusters) / (strength + n)};
  }

  // u = G_n/G_θ, then α | u ~ Gamma(θ/σ + K, (1+u)^σ/σ). Everything asked of the measure depends on α(1+u)^σ alone, so that u may be
  // held where α stays a float: under a small θ both leave the floats, u above and α below.
  void update_u(Rng& rng, MeasureState& state, int n, const Sizes& sizes) const override {
    const double strength = theta(state);
    state.log_u[0] = std::min(rng.log_gamma_variate(n) - rng.log_gamma_variate(strength), 600.0 / state.sigma);
    const double log_1u = log_add(0.0, state.log_u[0]);
    const double shape = strength / state.sigma + static_cast<double>(sizes.size());
    state.alpha[0] = std::max(kLeast, std::exp(rng.log_gamma_variate(shape) + std::log(state.sigma) - state.sigma * log_1u));
  }

  void update_hyper(Rng& rng, MeasureState& state, const Prior& prior, int n, const Sizes& sizes) const override {
    double& strength = state["theta"];
    if (const Law* law = prior.own_law("theta"))
      strength = update_positive(rng, *law, strength, [&](double x) { return log_pitman_yor(n, sizes, x, state.sigma); });
    if (prior.sigma_law)
      state.sigma =
          update_fraction(rng, *prior.sigma_law, state.sigma, [&](double s) { return log_pitman_yor(n, sizes, strength, s); });
    update_u(rng, state, n, sizes);
  }
};

}  // namespace

const ClosedForm* closed_form(std::string_view name) {
  static const PitmanYor pitman_yor;
  if (name == "py") return &pitman_yor;
  return nullptr;
}

}  // namespace hedgerow
