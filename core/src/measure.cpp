// Densities and updates of the prior state; formulas as in measure.hpp.
#include "hedgerow/measure.hpp"

#include <numeric>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {
constexpr double kSafe = 1e-250;  // sums of positive numbers between this and its inverse have all their digits
}  // namespace

Measure::Measure(const Prior& prior, std::vector<int> group_sizes)
    : prior_(prior),
      T_(prior.groups),
      R_(prior.bases),
      trivial_q_(prior.q.empty()),
      now_{std::vector<double>(T_, 0.0), std::vector<double>(R_, prior.alpha), prior.sigma, prior.tau, {}} {
  for (const Prior::Own& one : prior.own) now_.own.push_back({one.name, one.value});
  mixing_ = mixing_of(prior);
  prior_.q = {};
  if (prior_.form) prior_.form->start(now_);
  set_group_sizes(std::move(group_sizes));
}

std::shared_ptr<const Measure::Mixing> Measure::mixing_of(const Prior& prior) {
  auto out = std::make_shared<Mixing>();
  out->q = prior.q;
  out->log_q.assign(static_cast<std::size_t>(prior.groups) * prior.bases, 0.0);
  for (std::size_t i = 0; i < prior.q.size(); ++i) {
    // A zero would make −∞ − (−∞) when a row leaves; this floor is e^(−10⁶), zero in every sum.
    out->log_q[i] = std::max(std::log(prior.q[i]), kNoMixing);
    if (!(out->log_q[i] > kNoMixing)) out->full = false;
  }
  return out;
}

void Measure::set_group_sizes(std::vector<int> sizes) {
  n_t_ = std::move(sizes);
  n_ = std::accumulate(n_t_.begin(), n_t_.end(), 0);
  find_blocks();
  refresh();
}

void Measure::add_point(int t) {
  ++n_;
  if (++n_t_[t] > 1) {
    blocks_[block_of_[t]].points += 1.0;
    return;
  }
  find_blocks();  // the group's ξ enters the sums
  refresh();
}

// Connected parts of the graph that mixing makes of the groups with points and the basis measures.
void Measure::find_blocks() {
  blocks_.clear();
  block_of_.assign(T_, -1);
  if (mixing_->full) {
    Block all;
    for (int t = 0; t < T_; ++t) {
      if (n_t_[t] == 0) continue;
      all.groups.push_back(t);
      all.points += n_t_[t];
      block_of_[t] = 0;
    }
    all.bases.resize(R_);
    std::iota(all.bases.begin(), all.bases.end(), 0);
    if (!all.groups.empty()) blocks_.push_back(std::move(all));
    return;
  }
  std::vector<char> seen_r(R_, 0);
  for (int start = 0; start < T_; ++start) {
    if (block_of_[start] >= 0 || n_t_[start] == 0) continue;
    const int number = static_cast<int>(blocks_.size());
    Block block;
    block.groups.push_back(start);
    block_of_[start] = number;
    for (std::size_t i = 0; i < block.groups.size(); ++i) {
      block.points += n_t_[block.groups[i]];
      for (int r = 0; r < R_; ++r) {
        if (seen_r[r] || !reaches(block.groups[i], r)) continue;
        seen_r[r] = 1;
        block.bases.push_back(r);
        for (int t = 0; t < T_; ++t)
          if (block_of_[t] < 0 && n_t_[t] > 0 && reaches(t, r)) {
            block_of_[t] = number;
            block.groups.push_back(t);
          }
      }
    }
    blocks_.push_back(std::move(block));
  }
}

void Measure::set_log_xi(int t, double log_xi) {
  now_.log_u[t] = log_xi;
  refresh();
}

void Measure::set(MeasureState state) {
  now_ = std::move(state);
  refresh();
}

bool Measure::possible(const MeasureState& state) const {
  if (static_cast<int>(state.log_u.size()) != T_ || static_cast<int>(state.alpha.size()) != R_) return false;
  for (double v : state.log_u)
    if (!std::isfinite(v)) return false;
  for (double a : state.alpha)
    if (!(a > 0.0 && std::isfinite(a))) return false;
  // What the prior has above 0 moves on a scale that has no 0.
  auto fits = [](double x, double of_prior) { return std::isfinite(x) && (of_prior > 0.0 ? x > 0.0 : x >= 0.0); };
  for (std::size_t i = 0; i < prior_.own.size(); ++i)
    if (!fits(state.own[i].value, prior_.own[i].value)) return false;
  return fits(state.sigma, prior_.sigma) && state.sigma < 1.0 && fits(state.tau, prior_.tau);
}

// log of ((τ+x)^σ − τ^σ)/σ, and its limits at σ = 0 and τ = 0.
double Measure::log_psi_over_alpha(double log_x, double sigma, double tau) {
  if (tau == 0.0) return sigma * log_x - std::log(sigma);
  const double log_tau = std::log(tau), l = log_add(0.0, log_x - log_tau);
  if (sigma == 0.0) return std::log(l);
  const double power = sigma * l;
  return sigma * log_tau + (power < 1.0 ? std::log(std::expm1(power)) : power + std::log1p(-std::exp(-power))) - std::log(sigma);
}

// log ξ̄_r of the basis measures of a block. Sums are taken as they are, next to the largest ξ, and in logs where nothing is left.
void Measure::sum_xi(const Block& block) {
  double top = -kInf;
  for (int t : block.groups) top = std::max(top, now_.log_u[t]);
  std::vector<double> sum(R_, 0.0);
  for (int t : block.groups) {
    if (trivial_q_) break;
    const double xi = std::exp(now_.log_u[t] - top);
    const double* q = q_row(t);
    for (int r = 0; r < R_; ++r) sum[r] += xi * q[r];
  }
  for (int r : block.bases) {
    if (sum[r] > kSafe && sum[r] < 1.0 / kSafe) {
      log_xi_bar_[r] = top + std::log(sum[r]);
      continue;
    }
    for (int t : block.groups)
      if (reaches(t, r)) log_xi_bar_[r] = log_add(log_xi_bar_[r], lq(t, r) + now_.log_u[t]);
  }
}

// out[t] = log Σ_r q[t,r] e^(log_terms[r]), taken in the same way.
void Measure::log_mixtures(const std::vector<double>& log_terms, std::vector<double>& out) const {
  out.assign(T_, -kInf);
  const double top = *std::max_element(log_terms.begin(), log_terms.end());
  std::vector<double> terms(R_);
  for (int r = 0; r < R_; ++r) terms[r] = std::exp(log_terms[r] - top);
  for (int t = 0; t < T_; ++t) {
    const double sum = trivial_q_ ? 0.0 : simd().dot(q_row(t), terms.data(), R_);
    if (sum > kSafe && sum < 1.0 / kSafe) {
      out[t] = top + std::log(sum);
      continue;
    }
    for (int r = 0; r < R_; ++r) out[t] = log_add(out[t], log_terms[r] + lq(t, r));
  }
}

void Measure::refresh() {
  log_xi_bar_.assign(R_, -kInf);
  log_base_.assign(R_, 0.0);
  log_front_r_.resize(R_);
  base_unit_.assign(R_, 0.0);
  group_unit_.assign(T_, 0.0);
  const double log_tau = now_.tau > 0.0 ? std::log(now_.tau) : -kInf;
  for (int r = 0; r < R_; ++r)
    log_front_r_[r] = std::log(now_.alpha[r]) + (now_.sigma > 0.0 && now_.tau > 0.0 ? now_.sigma * log_tau : 0.0);
  for (const Block& block : blocks_) {
    double unit = kInf;
    sum_xi(block);
    for (int r : block.bases) {
      log_base_[r] = log_add(log_xi_bar_[r], log_tau);
      log_front_r_[r] = std::log(now_.alpha[r]) + now_.sigma * log_base_[r];
      unit = std::min(unit, log_base_[r]);
    }
    for (int r : block.bases) log_base_[r] -= unit;
    if (u_integrated()) continue;
    for (int r : block.bases) base_unit_[r] = unit;
    for (int t : block.groups) group_unit_[t] = unit;
  }
  base_rate_.resize(R_);
  std::vector<double> fresh(R_);
  for (int r = 0; r < R_; ++r) {
    base_rate_[r] = std::exp(-log_base_[r]);
    fresh[r] = log_front_r_[r] - log_base_[r];
  }
  log_mixtures(fresh, log_new_);
}

// Filled in as it is asked for and never longer than what is cheap to forget: σ may change with every batch of a stream.
double Measure::gamma_table(int m) const {
  constexpr int kNear = 1 << 14, kFar = 1 << 10;
  if (table_sigma_ != now_.sigma) {
    table_.clear();
    far_.clear();
    table_sigma_ = now_.sigma;
    table_base_ = lgamma(1.0 - now_.sigma);
  }
  if (m < 2) return 0.0;
  if (m < kNear) {
    if (m >= static_cast<int>(table_.size()))
      table_.resize(std::min(kNear, std::max(m + 1, 2 * static_cast<int>(table_.size()))), std::numeric_limits<double>::quiet_NaN());
    double& known = table_[m];
    if (std::isnan(known)) known = lgamma(m - now_.sigma) - table_base_;
    return known;
  }
  if (far_.empty()) far_.resize(kFar);
  Known& known = far_[m & (kFar - 1)];
  if (known.m != m) known = {m, lgamma(m - now_.sigma) - table_base_};
  return known.value;
}

double Measure::log_weight(int m, const double* lq) const {
  if (R_ == 1) return log_kappa(m) + (trivial_q_ ? 0.0 : lq[0]);
  constexpr int kFew = 64;
  if (R_ > kFew) return log_weight(m, lq, lq, 0.0);
  alignas(64) double terms[kFew];
  double top = -std::numeric_limits<double>::infinity();
  for (int r = 0; r < R_; ++r) top = std::max(top, terms[r] = log_front_r_[r] - m * log_base_[r] + lq[r]);
  const double least =
      top - 38.0;  // a cluster of any size came from one of two or three basis measures; the others are lost in rounding
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

double Measure::log_weight(int m, const double* lq, const double* more, double sign) const {
  terms_.resize(padded(R_));
  return gamma_table(m) + simd().log_mixture(log_front_r_.data(), log_base_.data(), m, lq, more, sign, R_, terms_.data());
}

void Measure::basis_shares(int m, const double* lq, double* out) const {
  constexpr int kFew = 16;
  if (R_ > kFew) {
    terms_.resize(padded(R_));
    for (int r = 0; r < R_; ++r) terms_[r] = log_front_r_[r] - m * log_base_[r] + (lq ? lq[r] : 0.0);
    const double total = simd().softmax(terms_.data(), R_);
    for (int r = 0; r < R_; ++r) out[r] = terms_[r] / total;
    return;
  }
  const double shared = gamma_table(m);
  for (int r = 0; r < R_; ++r) out[r] = log_front_r_[r] + shared - m * log_base_[r] + (lq ? lq[r] : 0.0);
  const double total = log_sum(out, R_);
  for (int r = 0; r < R_; ++r) out[r] = std::exp(out[r] - total);
}

double Measure::log_join(int m, const double* lq, int t) const {
  if (trivial_q_) return std::log(m - 1 - now_.sigma) + join_shift(t);
  return log_weight(m, lq) - log_weight(m - 1, lq, lq_row(t), -1.0);
}

double Measure::log_front() const {
  if (u_integrated()) return lgamma(now_.alpha[0]) - lgamma(now_.alpha[0] + n_);
  double total = 0.0;
  for (int t = 0; t < T_; ++t)
    if (n_t_[t] > 0) total += (n_t_[t] - 1) * now_.log_u[t] - lgamma(n_t_[t]);
  return total - exponent();
}

double Measure::log_front_in_logs() const {
  double total = -exponent();
  for (int t = 0; t < T_; ++t)
    if (n_t_[t] > 0) total += n_t_[t] * (now_.log_u[t] - group_unit_[t]) - lgamma(n_t_[t]);
  return total;
}

double Measure::exponent() const {
  double total = 0.0;
  for (int r = 0; r < R_; ++r) total += now_.alpha[r] * psi_over_alpha(log_xi_bar_[r], now_.sigma, now_.tau);
  return total;
}

double Measure::log_units() const {
  double total = 0.0;
  for (const Block& block : blocks_) total -= block.points * group_unit_[block.groups[0]];
  return total;
}

double Measure::log_partition(const std::vector<int>& sizes, const std::vector<double>& log_q) const {
  if (prior_.form) return prior_.form->log_partition(now_, n_, sizes);
  double total = log_front() + log_units();
  for (std::size_t c = 0; c < sizes.size(); ++c) total += log_weight(sizes[c], trivial_q_ ? nullptr : &log_q[c * R_]);
  return total;
}

// E[τ/(u+τ) | Π]. With l = log(1 + u/τ) the density of l is (1−e^(−l))^(n−1) e^(σKl − ατ^σ (e^(σl)−1)/σ), log-concave and with
// nothing that cancels; in y = log l it falls off exponentially on both sides, and the trapezoid rule converges geometrically.
double Measure::mean_rest(double n, double K) const {
  constexpr double kLeast = 1e-290;  // a β below this is lost in rounding; its product with what grows without end is not
  const double beta = now_.alpha[0] * std::pow(now_.tau, now_.sigma) / now_.sigma;
  const double log_beta = std::log(now_.alpha[0]) + now_.sigma * std::log(now_.tau) - std::log(now_.sigma);
  auto log_density = [&](double y) {
    const double l = std::exp(y), grown = now_.sigma * l;
    const double fall = beta > kLeast ? beta * std::expm1(grown) : std::exp(log_beta + grown);
    return (n - 1.0) * std::log(-std::expm1(-l)) + now_.sigma * K * l - fall + y;
  };
  double low = -700.0, high = 700.0;  // of log l: no float has its mode outside
  auto slope = [&](double y) {
    const double l = std::exp(y), grown = now_.sigma * l;
    const double fall = beta > kLeast ? beta * std::exp(grown) : std::exp(log_beta + grown);
    return (n - 1.0) * (l < 1e-8 ? 1.0 : l / std::expm1(l)) + now_.sigma * l * (K - fall) + 1.0;
  };
  for (int i = 0; i < 80; ++i) (slope(0.5 * (low + high)) > 0.0 ? low : high) = 0.5 * (low + high);
  const double mode = 0.5 * (low + high), top = log_density(mode);
  auto reach = [&](double sign) {
    double step = 1e-3;
    while (log_density(mode + sign * step) > top - 40.0) step *= 1.25;
    return step;
  };
  const double left = mode - reach(-1.0), right = mode + reach(1.0);
  constexpr int kNodes = 400;
  double mass = 0.0, sum = 0.0;
  for (int i = 0; i <= kNodes; ++i) {
    const double y = left + (right - left) * i / kNodes;
    const double w = std::exp(log_density(y) - top);
    mass += w;
    sum += w * std::exp(-std::exp(y));
  }
  return sum / mass;
}

Predictive Measure::predictive(int clusters) const {
  const double n = n_, K = clusters;
  if (prior_.form) return prior_.form->predictive(now_, n, K);
  if (now_.sigma == 0.0) return {1.0 / (now_.alpha[0] + n), now_.alpha[0] / (now_.alpha[0] + n)};
  const double rest = now_.tau == 0.0 ? 0.0 : mean_rest(n, K), join = (1.0 - rest) / n;
  return {join, rest + now_.sigma * K * join};
}

}  // namespace hedgerow
