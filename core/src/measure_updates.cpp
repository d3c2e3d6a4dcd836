// Updates of the prior state: u or ξ, and the hyper-parameters that have laws; formulas as in measure.hpp.
//
// Laws that are vague send α or σ to 0 and u beyond every float, so nothing here takes a power of u out of a logarithm, differences
// of large logarithms are written out, and what leaves the floats all the same is held at their edge (`hold`, `kLeast`, `kEdge`):
// there its law is known in closed form, so that it can be let go again exactly.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "hedgerow/measure.hpp"
#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"
#include "hyper_updates.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {
// A basis measure that a ξ cannot change by a rounding error, were it e^kReach times as large, is no part of that ξ's density.
constexpr double kUnseen = 1e-17, kReach = 8.0;
constexpr int kRounds = 4;     // of u and the hyper-parameters in turn: they cost little next to a sweep
constexpr double kHigh = 1e8;  // log(u/τ) above this, at σ = 0, is held at twice this: nothing but e^(−α log u) depends on it

// Each size that clusters have, and how many have it.
std::vector<std::pair<int, double>> count_sizes(std::vector<int> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::vector<std::pair<int, double>> out;
  for (int m : sizes) {
    if (out.empty() || out.back().first != m) out.emplace_back(m, 0.0);
    out.back().second += 1.0;
  }
  return out;
}
}  // namespace

int Measure::draw_basis(Rng& rng, int m, const double* lq) const {
  std::vector<double> w(R_);
  basis_shares(m, lq, w.data());
  return draw_index(rng, w.data(), R_, 1.0);
}

// z_c for every cluster given everything else; with one basis measure there is nothing to draw.
std::vector<int> Measure::draw_bases(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q) const {
  std::vector<int> z(sizes.size(), 0);
  for (std::size_t c = 0; c < sizes.size() && R_ > 1; ++c) z[c] = draw_basis(rng, sizes[c], &log_q[c * R_]);
  return z;
}

Measure::Tally Measure::tally(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q) const {
  const std::vector<int> z = draw_bases(rng, sizes, log_q);
  Tally out{std::vector<double>(R_, 0.0), std::vector<double>(R_, 0.0)};
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    out.count[z[c]] += 1.0;
    out.points[z[c]] += sizes[c];
  }
  return out;
}

void Measure::draw_start(Rng& rng) {
  MeasureState start = now_;
  if (prior_.sigma_law) {
    const double a = rng.log_gamma_variate(prior_.sigma_law->a), b = rng.log_gamma_variate(prior_.sigma_law->b);
    start.sigma = std::clamp(1.0 / (1.0 + std::exp(b - a)), kEdge, 1.0 - kEdge);
  }
  if (prior_.tau_law) start.tau = rng.gamma(prior_.tau_law->a, prior_.tau_law->b);
  for (auto& [name, value] : start.own)
    if (const Law* law = prior_.own_law(name)) value = rng.gamma(law->a, law->b);
  for (double& x : start.alpha) {
    if (prior_.form)
      x = prior_.form->draw_alpha(rng, start);
    else if (prior_.alpha_law)
      x = rng.gamma(prior_.alpha_law->a, prior_.alpha_law->b);
    x = std::max(x, kLeast);
  }
  set(std::move(start));
}

// ---- measures with a closed form

// σ = 0: p(Π) = Γ(α)/Γ(α+n) Π_c α Γ(|c|) does not know τ, and u/τ = G_n/G_α.
void Measure::update_dirichlet(Rng& rng, const std::vector<int>& sizes) {
  const double K = static_cast<double>(sizes.size());
  if (prior_.alpha_law)
    now_.alpha[0] =
        update_positive(rng, *prior_.alpha_law, now_.alpha[0], [&](double a) { return K * std::log(a) + lgamma(a) - lgamma(a + n_); });
  if (prior_.tau_law) now_.tau = std::max(kLeast, rng.gamma(prior_.tau_law->a, prior_.tau_law->b));
}

// τ = 0: p(Π) is that of Pitman–Yor at θ = 0 and does not know α, and u^σ ~ Gamma(K, α/σ).
void Measure::update_stable(Rng& rng, const std::vector<int>& sizes) {
  if (prior_.sigma_law)
    now_.sigma = update_fraction(rng, *prior_.sigma_law, now_.sigma, [&](double s) { return log_pitman_yor(n_, sizes, 0.0, s); });
  if (prior_.alpha_law) now_.alpha[0] = std::max(kLeast, rng.gamma(prior_.alpha_law->a, prior_.alpha_law->b));
}

// ---- ξ

// log(u/τ), or the least of log(ξ̄_r/τ) over the basis measures of a block.
double Measure::height(const Block& block) const {
  double least = kInf;
  for (int r : block.bases) least = std::min(least, log_xi_bar_[r]);
  return least - std::log(now_.tau);
}

// What is to be added to log ξ of a block for it to be a draw of what it stands for; 0 unless it is held.
double Measure::let_go(Rng& rng, const Block& block) const {
  if (now_.sigma > 0.0) return 0.0;
  const double now = height(block);
  if (now <= kHigh) return 0.0;
  double mass = 0.0;
  for (int r : block.bases) mass += now_.alpha[r];
  return kHigh + rng.exponential() / mass - now;
}

// Multiplies the ξ of a block by e^by, and holds them if that is out of reach.
void Measure::hold(const Block& block, double by) {
  if (now_.sigma == 0.0) {
    const double now = height(block);
    if (now + by > kHigh) by = 2.0 * kHigh - now;
  }
  for (int t : block.groups) now_.log_u[t] += by;
}

// log p(Π, z, ξ) of a block whose ξ are multiplied by e^by, as a density in by, up to what depends on neither by, σ nor τ but for
// the Γ functions: e^(n·by) Π_r (ξ̄_r+τ)^(σ K_r − n_r) e^(−ψ_r), with α integrated against its law if `alpha_too`.
double Measure::log_scale_density(const Block& block, const Tally& tally, double sigma, double tau, double by, bool alpha_too) const {
  const double log_tau = tau > 0.0 ? std::log(tau) : -kInf;
  const double top = log_xi_bar_[block.bases[0]];  // n·by − Σ n_r log(..) is written with differences to it: they are small
  double total = 0.0;
  for (int r : block.bases) {
    const double x = log_xi_bar_[r] + by, log_psi = log_psi_over_alpha(x, sigma, tau);
    total -= tally.points[r] * log_add(log_xi_bar_[r] - top, log_tau - top - by);
    if (sigma > 0.0) total += sigma * tally.count[r] * log_add(x, log_tau);
    if (alpha_too)
      total -= (prior_.alpha_law->a + tally.count[r]) * log_add(std::log(prior_.alpha_law->b), log_psi);
    else
      total -= now_.alpha[r] * std::exp(log_psi);
  }
  return total;
}

// The common factor of a block's ξ. By log log(1 + u/τ), where no tail is flat: that of log u falls like a power of it at σ = 0, and
// over 1/σ units otherwise.
double Measure::update_scale(Rng& rng, const Block& block, const Tally& tally, double by, bool alpha_too) {
  if (now_.tau == 0.0)
    return slice_update(rng, by, 1.0 / now_.sigma,
                        [&](double v) { return log_scale_density(block, tally, now_.sigma, now_.tau, v, alpha_too); });
  constexpr double kLinear = -30.0;  // below, log log(1 + e^x) is x
  const double now = height(block);
  auto by_of = [&](double y) {
    if (y < kLinear) return y - now;
    const double l = std::exp(y);
    return (l < 1.0 ? std::log(std::expm1(l)) : l + std::log1p(-std::exp(-l))) - now;
  };
  const double x = now + by, start = x < kLinear ? x : std::log(log_add(0.0, x));
  return by_of(slice_update(rng, start, 1.0, [&](double y) {
    const double slope = y < kLinear ? 0.0 : y - std::log(-std::expm1(-std::exp(y)));  // of log u by y, in logs
    return slope + log_scale_density(block, tally, now_.sigma, now_.tau, by_of(y), alpha_too);
  }));
}

// Every ξ_t by itself, given the others and α, where there are others in its block.
void Measure::update_groups(Rng& rng, const Tally& tally, const std::vector<char>* chosen) {
  if (!tame()) return update_groups_in_logs(rng, tally, chosen);
  for (const Block& block : blocks_)
    if (block.groups.size() > 1) update_groups_tamely(rng, block, tally, chosen);
  refresh();
}

// Whether all ξ of a block, and its sums of them, are floats next to the largest of them.
bool Measure::tame() const {
  constexpr double kWide = 600.0, kLow = -650.0, kFar = 600.0;
  if (trivial_q_) return false;
  for (const Block& block : blocks_) {
    double low = kInf, high = -kInf;
    for (int t : block.groups) {
      low = std::min(low, now_.log_u[t]);
      high = std::max(high, now_.log_u[t]);
    }
    const double off = now_.tau > 0.0 ? std::log(now_.tau) - high : now_.sigma * high;
    if (high - low > kWide || std::abs(off) > kFar) return false;
    for (int r : block.bases)
      if (log_xi_bar_[r] - high < kLow) return false;
  }
  return true;
}

// Densities are sums over the basis measures, in units of the block's largest ξ. Where groups lie along a line few are near.
void Measure::update_groups_tamely(Rng& rng, const Block& block, const Tally& tally, const std::vector<char>* chosen) {
  constexpr double kMost = 650.0;
  double top = -kInf;
  for (int t : block.groups) top = std::max(top, now_.log_u[t]);
  const bool whole = now_.tau == 0.0;
  const double tau = whole ? 0.0 : std::exp(std::log(now_.tau) - top), shift = whole ? top : -std::log(tau);
  const double scale = now_.sigma == 0.0 ? 1.0 : (whole ? 1.0 : std::pow(now_.tau, now_.sigma)) / now_.sigma;
  const std::size_t G = block.groups.size();
  std::vector<double> after((G + 1) * R_, 0.0), before(R_, 0.0), power(R_);
  for (int r = 0; r < R_; ++r) power[r] = tally.points[r] - now_.sigma * tally.count[r];
  for (std::size_t g = G; g-- > 0;) {
    const double xi = std::exp(now_.log_u[block.groups[g]] - top);
    const double* q = q_row(block.groups[g]);
    const double* from = &after[(g + 1) * R_];
    double* to = &after[g * R_];
    for (int r = 0; r < R_; ++r) to[r] = from[r] + xi * q[r];
  }
  struct Terms {
    AlignedVector<double> rest, q, n, a;
    int count = 0;
    void put(double rest_r, double q_r, double n_r, double a_r) {
      if (padded(count + 1) > static_cast<int>(rest.size()))
        for (auto* v : {&rest, &q, &n, &a}) v->resize(2 * padded(count + 1));
      rest[count] = rest_r, q[count] = q_r, n[count] = n_r, a[count] = a_r;
      ++count;
    }
    void fill() {
      while (count % kLanes != 0) put(1.0, 0.0, 0.0, 0.0);
    }
  } near, all;
  AlignedVector<double> none;
  for (std::size_t g = 0; g < G; ++g) {
    const int t = block.groups[g];
    const double* q = q_row(t);
    const double old = now_.log_u[t] - top;
    if (!chosen || (*chosen)[t]) {
      near.count = all.count = 0;
      const double most = std::exp(old + kReach);
      for (int r = 0; r < R_; ++r) {
        if (!(q[r] > 0.0)) continue;
        const double rest = before[r] + after[(g + 1) * R_ + r];
        if (q[r] * most > kUnseen * (rest + tau)) near.put(rest, q[r], power[r], now_.alpha[r]);
      }
      near.fill();
      auto density = [&](const Terms& of, double v) {
        const auto sum = [&](const AlignedVector<double>& rest, double x, double add, double more) {
          return simd().mixed_exponents(rest.data(), of.q.data(), of.n.data(), of.a.data(), of.count, x, add, more, now_.sigma, scale,
                                        whole);
        };
        if (v <= kMost) return n_t_[t] * v - sum(of.rest, std::exp(v), tau, shift);
        none.assign(of.count, 0.0);  // next to this ξ nothing else is left, and e^v is out of reach
        return (n_t_[t] - std::accumulate(of.n.begin(), of.n.begin() + of.count, 0.0)) * v - sum(none, 1.0, 0.0, shift + v);
      };
      double far = 0.0;  // what the others say, as long as nothing changes it
      auto both = [&](double v) {
        if (v <= old + kReach) return density(near, v);
        if (all.count == 0) {
          for (int r = 0; r < R_; ++r)
            if (q[r] > 0.0) all.put(before[r] + after[(g + 1) * R_ + r], q[r], power[r], now_.alpha[r]);
          all.fill();
          far = density(all, old) - density(near, old);
        }
        return density(all, v) - far;
      };
      now_.log_u[t] = top + slice_update(rng, old, 1.0, both);
    }
    const double xi = std::exp(now_.log_u[t] - top);
    for (int r = 0; r < R_; ++r) before[r] += xi * q[r];
  }
}

// The same where floats do not reach.
void Measure::update_groups_in_logs(Rng& rng, const Tally& tally, const std::vector<char>* chosen) {
  const double log_tau = now_.tau > 0.0 ? std::log(now_.tau) : -kInf;
  // ξ̄ less ξ_t's part: the groups before t, already renewed, and those after it.
  std::vector<int> near, all;
  std::vector<double> rest(R_), before(R_, -kInf), after(static_cast<std::size_t>(T_ + 1) * R_, -kInf);
  auto add = [&](int t, const double* to, double* out) {
    for (int r = 0; r < R_; ++r) out[r] = n_t_[t] > 0 && reaches(t, r) ? log_add(to[r], lq(t, r) + now_.log_u[t]) : to[r];
  };
  for (int t = T_ - 1; t >= 0; --t) add(t, &after[static_cast<std::size_t>(t + 1) * R_], &after[static_cast<std::size_t>(t) * R_]);
  for (int t = 0; t < T_; ++t) {
    if (n_t_[t] == 0) continue;
    if (blocks_[block_of_[t]].groups.size() > 1 && (!chosen || (*chosen)[t])) {
      const double old = now_.log_u[t], least = old + kReach - std::log(kUnseen);
      near.clear();
      all.clear();
      for (int r = 0; r < R_; ++r) {
        rest[r] = log_add(before[r], after[static_cast<std::size_t>(t + 1) * R_ + r]);
        if (!reaches(t, r)) continue;
        all.push_back(r);
        if (lq(t, r) + least > std::max(rest[r], log_tau)) near.push_back(r);
      }
      auto power = [&](const std::vector<int>& bases) {
        double total = n_t_[t];
        for (int r : bases) total -= tally.points[r] - now_.sigma * tally.count[r];
        return total;
      };
      auto density = [&](const std::vector<int>& bases, double n, double v) {
        double total = n * v;
        for (int r : bases) {
          const double more = log_add(lq(t, r), rest[r] - v);  // log(ξ̄_r/ξ_t)
          total -= now_.alpha[r] * psi_over_alpha(more + v, now_.sigma, now_.tau);
          total -= (tally.points[r] - now_.sigma * tally.count[r]) * log_add(more, log_tau - v);
        }
        return total;
      };
      const double power_near = power(near), power_all = power(all);
      std::optional<double> far;  // what the others say, as long as nothing changes it
      now_.log_u[t] = slice_update(rng, old, 1.0, [&](double v) {
        if (v <= old + kReach) return density(near, power_near, v);
        if (!far) far = density(all, power_all, old) - density(near, power_near, old);
        return density(all, power_all, v) - *far;
      });
    }
    add(t, before.data(), before.data());
  }
  refresh();
}

void Measure::update_u(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, const std::vector<char>* chosen) {
  if (prior_.form) {
    prior_.form->update_u(rng, now_, n_, sizes);
    return refresh();
  }
  if (u_integrated()) {
    now_.log_u[0] = rng.log_gamma_variate(n_) - rng.log_gamma_variate(now_.alpha[0]) + std::log(now_.tau);
    return;
  }
  if (plain_stable()) {
    now_.log_u[0] = (rng.log_gamma_variate(static_cast<double>(sizes.size())) - std::log(now_.alpha[0] / now_.sigma)) / now_.sigma;
    return refresh();
  }
  const Tally tally = this->tally(rng, sizes, log_q);
  if (T_ > 1) update_groups(rng, tally, chosen);
  for (const Block& block : blocks_) hold(block, update_scale(rng, block, tally, let_go(rng, block), false));
  refresh();
}

// ---- hyper-parameters

void Measure::update_hyper(Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, bool u_too) {
  if (prior_.form) {
    prior_.form->update_hyper(rng, now_, prior_, n_, sizes);
    return refresh();
  }
  if (!prior_.alpha_law && !prior_.sigma_law && !prior_.tau_law) return;
  if (u_integrated() || (u_too && plain_stable())) {
    u_integrated() ? update_dirichlet(rng, sizes) : update_stable(rng, sizes);
    update_u(rng, sizes, log_q, nullptr);
    return refresh();
  }
  update_general(rng, sizes, tally(rng, sizes, log_q), u_too);
}

// α u^σ is known well and neither of the two alone: σ, τ and u are drawn with α integrated out, and α last.
void Measure::update_general(Rng& rng, const std::vector<int>& sizes, const Tally& tally, bool u_too) {
  const double K = static_cast<double>(sizes.size());
  const bool alpha_too = prior_.alpha_law.has_value();
  std::vector<double> by(blocks_.size(), 0.0);
  if (u_too)
    for (std::size_t b = 0; b < blocks_.size(); ++b) by[b] = let_go(rng, blocks_[b]);
  const bool one = R_ == 1 && T_ == 1 && now_.sigma > 0.0 && alpha_too && u_too;
  if (one && now_.alpha[0] <= kLeast) by[0] += rng.exponential() / (now_.sigma * prior_.alpha_law->a);
  auto density = [&](double sigma, double tau, double more) {
    double total = 0.0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) total += log_scale_density(blocks_[b], tally, sigma, tau, by[b] + more, alpha_too);
    return total;
  };
  const std::vector<std::pair<int, double>> distinct = count_sizes(sizes);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t b = 0; b < blocks_.size() && u_too; ++b) by[b] = update_scale(rng, blocks_[b], tally, by[b], alpha_too);
    if (prior_.sigma_law)
      now_.sigma = update_fraction(rng, *prior_.sigma_law, now_.sigma, [&](double s) {
        double total = density(s, now_.tau, 0.0) - K * lgamma(1.0 - s);
        for (const auto& [m, times] : distinct) total += times * lgamma(m - s);
        return total;
      });
    if (prior_.tau_law) {
      // With u free τ moves at a fixed u/τ: it is α τ^σ that the partition knows.
      const double before = std::log(now_.tau);
      const Law law = *prior_.tau_law;
      const double v = slice_update(rng, before, 1.0, [&](double x) {
        return law.a * x - law.b * std::exp(x) + density(now_.sigma, std::exp(x), u_too ? x - before : 0.0);
      });
      now_.tau = std::max(kLeast, std::exp(v));
      if (u_too)
        for (double& x : by) x += v - before;
    }
  }
  std::vector<double> log_alpha(R_);
  for (int r = 0; r < R_; ++r) log_alpha[r] = std::log(now_.alpha[r]);
  if (alpha_too) {
    const Law law = *prior_.alpha_law;
    for (int r = 0; r < R_; ++r) log_alpha[r] = rng.log_gamma_variate(law.a + tally.count[r]) - std::log(law.b);
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (int r : blocks_[b].bases)
        log_alpha[r] -= log_add(0.0, log_psi_over_alpha(log_xi_bar_[r] + by[b], now_.sigma, now_.tau) - std::log(law.b));
  }
  if (one && log_alpha[0] < std::log(kLeast)) {
    by[0] -= (std::log(kLeast) - log_alpha[0]) / now_.sigma;  // α (u+τ)^σ stays
  }
  for (int r = 0; r < R_; ++r) now_.alpha[r] = std::max(kLeast, std::exp(log_alpha[r]));
  for (std::size_t b = 0; b < blocks_.size(); ++b) hold(blocks_[b], by[b]);
  refresh();
}

}  // namespace hedgerow
