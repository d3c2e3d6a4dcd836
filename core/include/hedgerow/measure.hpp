// The prior as state: one normalized random measure, or R basis measures mixed over T groups, with its auxiliary
// variables and hyper-parameters and their updates.
//
// Symbols: intensity ρ(dw) = α/Γ(1−σ) w^(−1−σ) e^(−τw) dw, auxiliary u (one per group: ξ_t), mixing q[t,r],
// ξ̄_r = Σ_t q[t,r] ξ_t. The plain measure is R = T = 1 with q = 1 and takes the same path.
// (Lee & Choi 2014 eq. 14–18, suppl. 59–67; Lee & Choi 2015 eq. 4–7.)
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "hedgerow/closed_form.hpp"
#include "hedgerow/measure_state.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

class Measure {
 public:
  Measure(const Prior& prior, std::vector<int> group_sizes);

  int groups() const { return T_; }
  int bases() const { return R_; }
  const Prior& prior() const { return prior_; }
  bool has_laws() const {
    const auto has = [](const Prior::Own& one) { return one.law.has_value(); };
    return prior_.alpha_law || prior_.sigma_law || prior_.tau_law || std::any_of(prior_.own.begin(), prior_.own.end(), has);
  }

  // State.
  double log_u(int t = 0) const { return now_.log_u[t]; }
  double alpha(int r = 0) const { return now_.alpha[r]; }
  double sigma() const { return now_.sigma; }
  double tau() const { return now_.tau; }
  const MeasureState& state() const { return now_; }
  void set(MeasureState state);
  // Whether a measure of this prior can be in a state that comes from outside.
  bool possible(const MeasureState& state) const;
  void set_group_sizes(std::vector<int> sizes);
  void add_point(int t);
  void set_log_xi(int t, double log_xi);
  const std::vector<int>& group_sizes() const { return n_t_; }

  // The DP integrates u out of every formula; its weights do not depend on u anyway.
  bool u_integrated() const { return prior_.kind == PriorKind::dp && T_ == 1 && R_ == 1; }

  // The normalized stable process: its partitions know neither u nor α.
  bool plain_stable() const { return T_ == 1 && R_ == 1 && trivial_q_ && now_.tau == 0.0; }

  // Weights count every row in units of e^(−log_unit), which is near 1/(ξ̄+τ): u may be e^(10⁸), and what is left of differences
  // between weights as they are would be rounding. A row's weight as it is has log_unit subtracted; log_units() is that for all rows.
  double log_unit(int t) const { return group_unit_[t]; }
  double log_unit_of(const double* lq) const { return base_unit_[R_ == 1 ? 0 : std::max_element(lq, lq + R_) - lq]; }
  double log_units() const;

  // log φ-weight of a cluster of m points: log Σ_r q̄[c,r] κ_r(m, ξ̄_r). `lq` is the R-vector Σ log q, unused when R = 1
  // and q = 1.
  double log_weight(int m, const double* lq) const;
  // The same of the mixing sums lq + sign·more.
  double log_weight(int m, const double* lq, const double* more, double sign) const;
  // Plain measure only (R = T = 1, q = 1).
  double log_kappa(int m) const { return log_front_r_[0] + gamma_table(m); }
  // P(z = r) of a cluster of m points, R values.
  void basis_shares(int m, const double* lq, double* out) const;
  // Log weight of a point of group t in a cluster of m points that it is one of, given the others.
  double log_join(int m, const double* lq, int t) const;

  // Prior part of adding one point of group t: existing cluster log(m−σ) + join_shift (plain) — or the mixed sum.
  double join_shift(int t) const { return lq(t, 0) - log_base_[0]; }
  double log_new(int t) const { return log_new_[t]; }
  // log(ξ_t/n_t), less the unit of the weights: what p(Π, ξ) takes on beside a weight with one more point of group t.
  double log_next(int t) const { return now_.log_u[t] - group_unit_[t] - std::log(static_cast<double>(n_t_[t])); }
  double lq(int t, int r) const { return mixing_->log_q[static_cast<std::size_t>(t) * R_ + r]; }
  const double* lq_row(int t) const { return mixing_->log_q.data() + static_cast<std::size_t>(t) * R_; }
  // A point of group t comes to basis measure r at the rate q[t,r]·base_rate(r), in the units of the weights. Mixed measures only.
  const double* q_row(int t) const { return mixing_->q.data() + static_cast<std::size_t>(t) * R_; }
  double base_rate(int r) const { return base_rate_[r]; }
  double join_rate(int t, int r) const { return q_row(t)[r] * base_rate_[r]; }
  bool trivial_q() const { return trivial_q_; }

  // log of the factor in front of Π_c: Π_t ξ_t^(n_t−1)/Γ(n_t) Π_r e^(−ψ_r(ξ̄_r)), or Γ(α)/Γ(α+n) for the DP.
  double log_front() const;
  // The same as a density of log ξ, in the units of the weights: nothing in it is as large as log ξ.
  double log_front_in_logs() const;
  double exponent() const;  // Σ_r ψ_r(ξ̄_r)
  // What is reported as the prior part of the log joint: with u integrated out for DP and Pitman–Yor.
  double log_partition(const std::vector<int>& sizes, const std::vector<double>& log_q) const;

  // Predictive weights of one more point, plain measure only, with u integrated against p(u | Π) rather than fixed:
  // ∫ p(u|Π) (u/n)/(u+τ) du, and the rest.
  Predictive predictive(int clusters) const;

  // The hyper-parameters that have laws drawn from them, before any data.
  void draw_start(Rng& rng);
  // Gibbs updates of (u or ξ), and of the hyper-parameters that have laws, along with u where that mixes better and is allowed.
  // `log_q` holds R values per cluster. Of many groups only the `chosen` ones may be renewed, one by one; all are by a common factor.
  void update_u(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, const std::vector<char>* chosen = nullptr);
  void update_hyper(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, bool u_too);
  // The basis measure of a cluster of m points, and that of every cluster, from its conditional.
  int draw_basis(Rng& rng, int m, const double* lq) const;
  std::vector<int> draw_bases(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q) const;

 private:
  // Clusters and their points by basis measure, for a draw of the bases.
  struct Tally {
    std::vector<double> count, points;
  };
  // Groups and basis measures that mixing connects, directly or through others: their ξ have one scale.
  struct Block {
    std::vector<int> groups, bases;
    double points = 0.0;
  };
  double gamma_table(int m) const;  // lnΓ(m−σ) − lnΓ(1−σ)
  double mean_rest(double n, double K) const;
  void refresh();
  void find_blocks();
  bool reaches(int t, int r) const { return lq(t, r) > kNoMixing; }
  // The mixing matrix and its log, which no update changes: copies of a measure share them.
  struct Mixing {
    std::vector<double> q, log_q;  // q is empty where it is 1
    bool full = true;              // no zeros
  };
  static std::shared_ptr<const Mixing> mixing_of(const Prior& prior);
  void sum_xi(const Block& block);
  void log_mixtures(const std::vector<double>& log_terms, std::vector<double>& out) const;
  static double log_psi_over_alpha(double log_x, double sigma, double tau);
  static double psi_over_alpha(double log_x, double sigma, double tau) { return std::exp(log_psi_over_alpha(log_x, sigma, tau)); }

  // Updates (measure_updates.cpp).
  Tally tally(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q) const;
  void update_stable(Rng& rng, const std::vector<int>& sizes);
  void update_dirichlet(Rng& rng, const std::vector<int>& sizes);
  void update_groups(Rng& rng, const Tally& tally, const std::vector<char>* chosen);
  bool tame() const;
  void update_groups_tamely(Rng& rng, const Block& block, const Tally& tally, const std::vector<char>* chosen);
  void update_groups_in_logs(Rng& rng, const Tally& tally, const std::vector<char>* chosen);
  void update_general(Rng& rng, const std::vector<int>& sizes, const Tally& tally, bool u_too);
  double log_scale_density(const Block& block, const Tally& tally, double sigma, double tau, double by, bool alpha_too) const;
  double update_scale(Rng& rng, const Block& block, const Tally& tally, double by, bool alpha_too);
  double height(const Block& block) const;
  double let_go(Rng& rng, const Block& block) const;
  void hold(const Block& block, double by);

  static constexpr double kNoMixing = -1e6;  // log q of 0: far below every float's log
  Prior prior_;
  int T_, R_;
  bool trivial_q_;
  std::vector<int> n_t_;
  int n_ = 0;
  MeasureState now_;
  std::shared_ptr<const Mixing> mixing_;
  std::vector<Block> blocks_;  // of the groups that have points
  std::vector<int> block_of_;  // each group's, -1 for one without points
  // Derived from the state by refresh(): log ξ̄, log(ξ̄ + τ) less the unit, units, and log α_r + σ log(ξ̄_r + τ).
  std::vector<double> log_xi_bar_, log_base_, base_rate_, base_unit_, group_unit_, log_new_, log_front_r_;
  mutable std::vector<double> terms_;
  // lnΓ(m−σ) − lnΓ(1−σ) as far as it was asked for; larger m in few places, by their last digits.
  struct Known {
    int m = -1;
    double value = 0.0;
  };
  mutable std::vector<double> table_;
  mutable std::vector<Known> far_;
  mutable double table_sigma_ = -1.0, table_base_ = 0.0;
};

}  // namespace hedgerow
