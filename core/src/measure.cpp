// Densities and updates of the prior state; formulas as in measure.hpp.
#include "hedgerow/measure.hpp"

#include <numeric>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {
constexpr int kRounds = 4;         // of u and the hyper-parameters in turn: they cost little next to a sweep
constexpr double kLeast = 1e-300;  // a mass that underflowed to 0 could never grow again
}  // namespace

Measure::Measure(const Prior& prior, std::vector<int> group_sizes)
    : prior_(prior),
      T_(prior.groups),
      R_(prior.bases),
      trivial_q_(prior.q.empty()),
      log_xi_(T_, 0.0),
      alpha_(R_, prior.alpha),
      sigma_(prior.sigma),
      tau_(prior.tau),
      theta_(prior.theta) {
  log_q_.assign(static_cast<std::size_t>(T_) * R_, 0.0);
  // A zero would make −∞ − (−∞) when a row leaves; this floor is e^(−10⁶), zero in every sum.
  for (std::size_t i = 0; i < prior.q.size(); ++i) log_q_[i] = std::max(std::log(prior.q[i]), -1e6);
  if (prior_.kind == PriorKind::py) {
    tau_ = 1.0;
    if (!prior_.alpha_law) alpha_[0] = std::max(theta_, 1e-3);  // first update draws it from its conditional
  }
  set_group_sizes(std::move(group_sizes));
}

void Measure::set_group_sizes(std::vector<int> sizes) {
  n_t_ = std::move(sizes);
  n_ = std::accumulate(n_t_.begin(), n_t_.end(), 0);
  refresh();
}

void Measure::add_point(int t) {
  ++n_;
  if (++n_t_[t] == 1) refresh();  // the group's ξ enters the sums
}

void Measure::set_log_xi(int t, double log_xi) {
  log_xi_[t] = log_xi;
  refresh();
}

void Measure::set(const double* log_xi, const double* alpha, double sigma, double tau, double theta) {
  log_xi_.assign(log_xi, log_xi + T_);
  alpha_.assign(alpha, alpha + R_);
  sigma_ = sigma;
  tau_ = tau;
  theta_ = theta;
  refresh();
}

bool Measure::possible(const double* log_xi, const double* alpha, double sigma, double tau, double theta) const {
  for (int t = 0; t < T_; ++t)
    if (!std::isfinite(log_xi[t])) return false;
  for (int r = 0; r < R_; ++r)
    if (!(alpha[r] >= 0.0 && std::isfinite(alpha[r]))) return false;
  // What the prior has above 0 moves on a scale that has no 0.
  auto fits = [](double x, double of_prior) { return std::isfinite(x) && (of_prior > 0.0 ? x > 0.0 : x >= 0.0); };
  return fits(sigma, prior_.sigma) && sigma < 1.0 && fits(tau, prior_.tau) && fits(theta, prior_.theta);
}

// ((τ+x)^σ − τ^σ)/σ, and its limits at σ = 0 and τ = 0.
double Measure::psi_over_alpha(double log_x, double sigma, double tau) {
  if (tau == 0.0) return std::exp(sigma * log_x) / sigma;
  const double l = log_add(0.0, log_x - std::log(tau));
  if (sigma == 0.0) return l;
  return std::exp(sigma * std::log(tau)) * std::expm1(sigma * l) / sigma;
}

void Measure::refresh() {
  log_xi_bar_.assign(R_, -kInf);
  log_base_.assign(R_, 0.0);
  const double log_tau = tau_ > 0.0 ? std::log(tau_) : -kInf;
  for (int r = 0; r < R_; ++r) {
    for (int t = 0; t < T_; ++t)
      if (n_t_[t] > 0) log_xi_bar_[r] = log_add(log_xi_bar_[r], lq(t, r) + log_xi_[t]);
    log_base_[r] = log_add(log_xi_bar_[r], log_tau);
  }
  if (u_integrated()) log_base_[0] = 0.0;  // κ(m) = α Γ(m): the power of u + τ belongs to the integrated front factor
  join_rate_.assign(static_cast<std::size_t>(T_) * R_, 0.0);
  log_new_.assign(T_, -kInf);
  for (int t = 0; t < T_; ++t)
    for (int r = 0; r < R_; ++r) {
      join_rate_[static_cast<std::size_t>(t) * R_ + r] = std::exp(lq(t, r) - log_base_[r]);
      log_new_[t] = log_add(log_new_[t], std::log(alpha_[r]) + (sigma_ - 1.0) * log_base_[r] + lq(t, r));
    }
  log_kappa_front_ = std::log(alpha_[0]);
  log_front_r_.resize(R_);
  for (int r = 0; r < R_; ++r) log_front_r_[r] = std::log(alpha_[r]) + sigma_ * log_base_[r];
}

double Measure::gamma_table(int m) const {
  constexpr int kMost = 1 << 21;
  if (table_sigma_ != sigma_) {
    table_.assign(2, 0.0);
    table_sigma_ = sigma_;
  }
  if (m < static_cast<int>(table_.size())) return table_[m];
  if (m >= kMost) return lgamma(m - sigma_) - lgamma(1.0 - sigma_);
  const int old = static_cast<int>(table_.size());
  const int wanted = std::min(kMost, std::max(m + 1, std::min(2 * old, n_ + 2)));
  table_.resize(wanted);
  const double base = lgamma(1.0 - sigma_);
  for (int i = old; i < wanted; ++i) table_[i] = lgamma(i - sigma_) - base;
  return table_[m];
}

double Measure::log_weight(int m, const double* lq) const {
  if (R_ == 1) return log_kappa(m) + (trivial_q_ ? 0.0 : lq[0]);
  constexpr int kFew = 64;
  alignas(64) double few[kFew];
  AlignedVector<double> many;
  double* terms = few;
  if (R_ > kFew) {
    many.resize(padded(R_));
    terms = many.data();
  }
  for (int r = 0; r < R_; ++r) terms[r] = log_front_r_[r] - m * log_base_[r] + lq[r];
  // A cluster of any size came from one of two or three basis measures; the others are lost in rounding.
  const double top = *std::max_element(terms, terms + R_), least = top - 38.0;
  int counted = 0;
  for (int r = 0; r < R_; ++r) counted += terms[r] > least;
  const double front = gamma_table(m) + top;
  if (counted == 1) return front;
  if (counted > 3) return front + std::log(simd().softmax(terms, R_));
  double sum = 0.0;
  for (int r = 0; r < R_; ++r)
    if (terms[r] > least) sum += std::exp(terms[r] - top);
  return front + std::log(sum);
}

void Measure::log_basis(int m, const double* lq, double* out) const {
  const double shared = gamma_table(m);
  for (int r = 0; r < R_; ++r) out[r] = log_front_r_[r] + shared - m * log_base_[r] + (lq ? lq[r] : 0.0);
}

double Measure::log_front() const {
  if (u_integrated()) return lgamma(alpha_[0]) - lgamma(alpha_[0] + n_);
  double total = 0.0;
  for (int t = 0; t < T_; ++t)
    if (n_t_[t] > 0) total += (n_t_[t] - 1) * log_xi_[t] - lgamma(n_t_[t]);
  for (int r = 0; r < R_; ++r) total -= alpha_[r] * psi_over_alpha(log_xi_bar_[r], sigma_, tau_);
  return total;
}

static double log_pitman_yor(const std::vector<int>& sizes, int n, double theta, double sigma) {
  double total = lgamma(theta + 1.0) - lgamma(theta + n) - static_cast<double>(sizes.size()) * lgamma(1.0 - sigma);
  for (std::size_t k = 1; k < sizes.size(); ++k) total += std::log(theta + sigma * static_cast<double>(k));
  for (int m : sizes) total += lgamma(m - sigma);
  return total;
}

double Measure::log_partition(const std::vector<int>& sizes, const std::vector<double>& log_q) const {
  if (prior_.kind == PriorKind::py) return log_pitman_yor(sizes, n_, theta_, sigma_);
  double total = log_front();
  for (std::size_t c = 0; c < sizes.size(); ++c) total += log_weight(sizes[c], trivial_q_ ? nullptr : &log_q[c * R_]);
  return total;
}

Measure::Predictive Measure::predictive(int clusters) const {
  const double n = n_, K = clusters;
  double join;
  if (prior_.kind == PriorKind::py) {
    join = 1.0 / (theta_ + n);
  } else if (sigma_ == 0.0) {
    join = 1.0 / (alpha_[0] + n);
  } else if (tau_ == 0.0) {
    join = 1.0 / n;
  } else {
    // Trapezoid rule on v = log u around the mode: the integrand is smooth and falls off fast on both sides.
    const double log_tau = std::log(tau_);
    auto log_density = [&](double v) {
      return n * v - alpha_[0] * psi_over_alpha(v, sigma_, tau_) - (n - sigma_ * K) * log_add(v, log_tau);
    };
    auto slope = [&](double v) {
      const double share = 1.0 / (1.0 + std::exp(log_tau - v));  // u/(u+τ)
      return n - alpha_[0] * share * std::exp(sigma_ * log_add(v, log_tau)) - (n - sigma_ * K) * share;
    };
    double low = -700.0, high = 700.0;
    for (int i = 0; i < 80; ++i) (slope(0.5 * (low + high)) > 0.0 ? low : high) = 0.5 * (low + high);
    const double mode = 0.5 * (low + high), top = log_density(mode);
    auto reach = [&](double sign) {
      double step = 1e-3;
      while (log_density(mode + sign * step) > top - 40.0 && step < 600.0) step *= 1.25;
      return step;
    };
    const double left = mode - reach(-1.0), right = mode + reach(1.0);
    constexpr int kNodes = 400;
    double mass = 0.0, sum = 0.0;
    for (int i = 0; i <= kNodes; ++i) {
      const double v = left + (right - left) * i / kNodes;
      const double w = std::exp(log_density(v) - top);
      mass += w;
      sum += w / (n * (1.0 + std::exp(log_tau - v)));
    }
    join = sum / mass;
  }
  return {join, std::max(0.0, 1.0 - join * (n - sigma_ * K))};
}

// z_c for every cluster given everything else; with one basis measure there is nothing to draw.
std::vector<int> Measure::draw_bases(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q) const {
  std::vector<int> z(sizes.size(), 0);
  if (R_ == 1) return z;
  std::vector<double> w(R_);
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    log_basis(sizes[c], &log_q[c * R_], w.data());
    const double top = *std::max_element(w.begin(), w.end());
    double total = 0.0;
    for (double& x : w) total += x = std::exp(x - top);
    z[c] = draw_index(rng, w.data(), R_, total);
  }
  return z;
}

// Pitman–Yor: everything has a closed form given the partition. u = G_n/G_θ, then α | u ~ Gamma(θ/σ + K, (1+u)^σ/σ).
void Measure::update_pitman_yor(Rng& rng, const std::vector<int>& sizes) {
  // Everything asked of the measure depends on α(1+u)^σ alone, so that u may be held where α stays a float: under a small θ both
  // leave the floats, u above and α below.
  log_xi_[0] = std::min(rng.log_gamma_variate(n_) - rng.log_gamma_variate(theta_), 600.0 / sigma_);
  const double log_1u = log_add(0.0, log_xi_[0]);
  const double shape = theta_ / sigma_ + static_cast<double>(sizes.size());
  alpha_[0] = std::max(kLeast, std::exp(rng.log_gamma_variate(shape) + std::log(sigma_) - sigma_ * log_1u));
  refresh();
}

void Measure::update_u(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q) {
  if (prior_.kind == PriorKind::py) return update_pitman_yor(rng, sizes);
  if (u_integrated()) {
    log_xi_[0] = rng.log_gamma_variate(n_) - rng.log_gamma_variate(alpha_[0]) + std::log(tau_);
    return;
  }
  if (T_ == 1 && R_ == 1 && trivial_q_ && tau_ == 0.0) {  // stable: u^σ ~ Gamma(K, α/σ)
    log_xi_[0] = (rng.log_gamma_variate(static_cast<double>(sizes.size())) - std::log(alpha_[0] / sigma_)) / sigma_;
    return refresh();
  }
  const std::vector<int> z = draw_bases(rng, sizes, log_q);
  std::vector<double> mass(R_, 0.0);  // Σ_{c: z_c = r} (|c| − σ)
  for (std::size_t c = 0; c < sizes.size(); ++c) mass[z[c]] += sizes[c] - sigma_;
  const double log_tau = tau_ > 0.0 ? std::log(tau_) : -kInf;
  // ξ̄ less ξ_t's part: the groups before t, already renewed, and those after it.
  std::vector<double> rest(R_), before(R_, -kInf), after(static_cast<std::size_t>(T_ + 1) * R_, -kInf);
  for (int t = T_ - 1; t >= 0; --t)
    for (int r = 0; r < R_; ++r) {
      const double later = after[static_cast<std::size_t>(t + 1) * R_ + r];
      after[static_cast<std::size_t>(t) * R_ + r] = n_t_[t] > 0 ? log_add(later, lq(t, r) + log_xi_[t]) : later;
    }
  for (int t = 0; t < T_; ++t) {
    if (n_t_[t] == 0) continue;
    for (int r = 0; r < R_; ++r) rest[r] = log_add(before[r], after[static_cast<std::size_t>(t + 1) * R_ + r]);
    auto log_density = [&](double v) {
      double total = n_t_[t] * v;
      for (int r = 0; r < R_; ++r) {
        const double x = log_add(rest[r], lq(t, r) + v);
        total -= alpha_[r] * psi_over_alpha(x, sigma_, tau_) + mass[r] * log_add(x, log_tau);
      }
      return total;
    };
    log_xi_[t] = slice_update(rng, log_xi_[t], 1.0, log_density);
    for (int r = 0; r < R_; ++r) before[r] = log_add(before[r], lq(t, r) + log_xi_[t]);
  }
  refresh();
}

// Each size that clusters have, and how many have it.
static std::vector<std::pair<int, double>> count_sizes(std::vector<int> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::vector<std::pair<int, double>> out;
  for (int m : sizes) {
    if (out.empty() || out.back().first != m) out.emplace_back(m, 0.0);
    out.back().second += 1.0;
  }
  return out;
}

void Measure::update_hyper(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, bool u_too) {
  const double K = static_cast<double>(sizes.size());
  if (prior_.kind == PriorKind::py) {
    if (prior_.theta_law) {
      const Law law = *prior_.theta_law;
      const double v = slice_update(rng, std::log(theta_), 1.0, [&](double x) {
        return law.a * x - law.b * std::exp(x) + log_pitman_yor(sizes, n_, std::exp(x), sigma_);
      });
      theta_ = std::exp(v);
    }
    if (prior_.sigma_law) {
      const Law law = *prior_.sigma_law;
      const double v = slice_update(rng, std::log(sigma_ / (1.0 - sigma_)), 1.0, [&](double x) {
        const double s = 1.0 / (1.0 + std::exp(-x));
        if (s <= 0.0 || s >= 1.0) return -kInf;
        return law.a * std::log(s) + law.b * std::log1p(-s) + log_pitman_yor(sizes, n_, theta_, s);
      });
      sigma_ = 1.0 / (1.0 + std::exp(-v));
    }
    return update_pitman_yor(rng, sizes);
  }
  if (!prior_.alpha_law && !prior_.sigma_law && !prior_.tau_law) return;
  if (u_integrated()) {  // Escobar and West's auxiliary variable is this u
    const double log_u = rng.log_gamma_variate(n_) - rng.log_gamma_variate(alpha_[0]) + std::log(tau_);
    log_xi_[0] = log_u;
    alpha_[0] = std::max(kLeast, rng.gamma(prior_.alpha_law->a + K, prior_.alpha_law->b + psi_over_alpha(log_u, 0.0, tau_)));
    return refresh();
  }
  const std::vector<int> z = draw_bases(rng, sizes, log_q);
  std::vector<double> count(R_, 0.0), mass(R_, 0.0);
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    count[z[c]] += 1.0;
    mass[z[c]] += sizes[c];
  }
  // α u^σ is known well and neither of the two alone: σ, τ and u are drawn with α integrated out, and α last.
  auto shared = [&](double sigma, double tau) {  // log ∫ e^(−Σ ψ_r) p(α), less Σ_c (|c|−σ) log(ξ̄+τ)
    const double log_tau = tau > 0.0 ? std::log(tau) : -kInf;
    double total = 0.0;
    for (int r = 0; r < R_; ++r) {
      const double psi = psi_over_alpha(log_xi_bar_[r], sigma, tau);
      total -= prior_.alpha_law ? (prior_.alpha_law->a + count[r]) * std::log(prior_.alpha_law->b + psi) : alpha_[r] * psi;
      total -= (mass[r] - sigma * count[r]) * log_add(log_xi_bar_[r], log_tau);
    }
    return total;
  };
  const std::vector<std::pair<int, double>> distinct = count_sizes(sizes);
  for (int round = 0; round < kRounds; ++round) {
    if (u_too) {  // all ξ at once, by one factor
      const std::vector<double> bar = log_xi_bar_;
      auto shift = [&](double by) {
        for (int r = 0; r < R_; ++r) log_xi_bar_[r] = bar[r] + by;
      };
      const double by = slice_update(rng, 0.0, 1.0, [&](double v) {
        shift(v);
        return n_ * v + shared(sigma_, tau_);
      });
      shift(by);
      for (int t = 0; t < T_; ++t)
        if (n_t_[t] > 0) log_xi_[t] += by;
    }
    if (prior_.sigma_law) {
      const Law law = *prior_.sigma_law;
      const double v = slice_update(rng, std::log(sigma_ / (1.0 - sigma_)), 1.0, [&](double x) {
        const double s = 1.0 / (1.0 + std::exp(-x));
        if (s < 1e-12 || s > 1.0 - 1e-12) return -kInf;
        double total = law.a * std::log(s) + law.b * std::log1p(-s) + shared(s, tau_) - K * lgamma(1.0 - s);
        for (const auto& [m, times] : distinct) total += times * lgamma(m - s);
        return total;
      });
      sigma_ = 1.0 / (1.0 + std::exp(-v));
    }
    if (prior_.tau_law) {
      const Law law = *prior_.tau_law;
      const double v = slice_update(rng, std::log(tau_), 1.0,
                                    [&](double x) { return law.a * x - law.b * std::exp(x) + shared(sigma_, std::exp(x)); });
      tau_ = std::exp(v);
    }
  }
  if (prior_.alpha_law) {
    const Law law = *prior_.alpha_law;
    for (int r = 0; r < R_; ++r)
      alpha_[r] = std::max(
          kLeast, std::exp(rng.log_gamma_variate(law.a + count[r]) - std::log(law.b + psi_over_alpha(log_xi_bar_[r], sigma_, tau_))));
  }
  refresh();
}

}  // namespace hedgerow
