// Particles over growing partitions; formulas in smc.hpp.
#include "hedgerow/smc.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hedgerow/aligned.hpp"
#include "hedgerow/patience.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

struct Particle {
  Particle(const Likelihood& likelihood, const Prior& prior)
      : measure(prior, std::vector<int>(prior.groups, 0)), statistics(likelihood.statistics(Layout::clusters)) {}

  void copy_from(Particle& other) {
    measure = other.measure;
    sizes = other.sizes;
    log_q = other.log_q;
    statistics->reserve(static_cast<int>(sizes.size()) + 1);
    for (int c = 0; c < static_cast<int>(sizes.size()); ++c) statistics->load(c, *other.statistics, c);
    line = other.line;
    first = other.first;
  }

  const double* q(int c) const { return log_q.empty() ? nullptr : &log_q[static_cast<std::size_t>(c) * measure.bases()]; }

  // Log of the prior's part of the target, up to what the rows of other groups contribute through Γ(n_t).
  double log_prior() const {
    double total = measure.log_front() + measure.log_units();
    for (std::size_t c = 0; c < sizes.size(); ++c) total += measure.log_weight(sizes[c], q(static_cast<int>(c)));
    return total;
  }

  Measure measure;
  std::unique_ptr<Statistics> statistics;
  std::vector<int> sizes;
  std::vector<double> log_q;  // R per cluster when q is not trivially 1
  std::vector<int> line;      // slot of each row so far, in order of arrival
  int first = 0;
};

// Before any data: hyper-parameters from their laws.
void draw_start(Particle& particle, const Prior& prior, Rng& rng) {
  double sigma = prior.sigma, tau = prior.tau, theta = prior.theta;
  auto beta = [&](const Law& law) {
    const double a = rng.log_gamma_variate(law.a), b = rng.log_gamma_variate(law.b);
    return 1.0 / (1.0 + std::exp(b - a));
  };
  if (prior.sigma_law) sigma = std::clamp(beta(*prior.sigma_law), 1e-12, 1.0 - 1e-12);
  if (prior.tau_law) tau = rng.gamma(prior.tau_law->a, prior.tau_law->b);
  if (prior.theta_law) theta = rng.gamma(prior.theta_law->a, prior.theta_law->b);
  std::vector<double> alpha(prior.bases, prior.alpha), log_xi(prior.groups, 0.0);
  for (double& x : alpha) {
    if (prior.kind == PriorKind::py)
      x = std::exp(rng.log_gamma_variate(theta / sigma) + std::log(sigma));
    else if (prior.alpha_law)
      x = rng.gamma(prior.alpha_law->a, prior.alpha_law->b);
    x = std::max(x, 1e-300);
  }
  if (prior.kind == PriorKind::py) tau = 1.0;
  particle.measure.set(log_xi.data(), alpha.data(), sigma, tau, theta);
}

// ξ_t of a group that gets its first row, drawn from a grid over log ξ_t that follows its conditional given what is there. Returns
// the log weight: target over proposal. Call after the group's count became 1, with the row itself not yet in.
double open_group(Particle& particle, int t, double log_prior_before, Rng& rng) {
  Measure& measure = particle.measure;
  // A Pitman–Yor partition of one row has probability 1 whatever θ and σ; u and α are drawn once the row is in.
  if (measure.u_integrated() || measure.prior().kind == PriorKind::py) return -measure.log_new(0);
  constexpr int kNodes = 240;
  std::vector<double> target(kNodes + 1), mass(kNodes);
  auto log_target = [&](double v) {  // density of v = log ξ_t, with the new row's prior mass of opening a cluster
    measure.set_log_xi(t, v);
    return v + particle.log_prior() + measure.log_new(t);
  };
  double reach = 30.0, step = 0.0, top = 0.0;
  for (;; reach *= 2.0) {  // wide enough for the tails
    step = 2.0 * reach / kNodes;
    for (int i = 0; i <= kNodes; ++i) target[i] = log_target(-reach + i * step);
    top = *std::max_element(target.begin(), target.end());
    if (reach > 350.0 || std::max(target[0], target[kNodes]) < top - 35.0) break;
  }
  double total = 0.0;
  for (int i = 0; i < kNodes; ++i) total += mass[i] = std::exp(std::max(target[i], target[i + 1]) - top) + 1e-12;
  const int cell = draw_index(rng, mass.data(), kNodes, total);
  const double v = -reach + (cell + rng.uniform()) * step;
  const double log_proposal = std::log(mass[cell] / total / step);
  const double weight = log_target(v) - log_prior_before - log_proposal;
  return weight - measure.log_new(t);
}

}  // namespace

SmcResult smc(const Likelihood& likelihood, const Prior& prior, const std::vector<int>& groups, int particles, double threshold,
              std::uint64_t seed, std::uint64_t stream, bool shuffle) {
  Rng rng(seed, stream);
  const int n = likelihood.rows(), R = prior.bases;
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (shuffle)
    for (int i = 0; i < n; ++i) std::swap(order[i], order[i + rng.index(n - i)]);
  if (!groups.empty()) std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return groups[a] < groups[b]; });

  std::vector<Particle> now, next;
  for (int p = 0; p < particles; ++p) {
    now.emplace_back(likelihood, prior);
    next.emplace_back(likelihood, prior);
    now[p].first = p;
    draw_start(now[p], prior, rng);
  }
  std::vector<double> log_weight(particles, 0.0), weight(particles), basis(R);
  AlignedVector<double> w;
  SmcResult result;
  const bool plain = now[0].measure.trivial_q();
  Patience patience(64);
  for (int i = 0; i < n; ++i) {
    const int row = order[i], t = groups.empty() ? 0 : groups[row];
    for (int p = 0; p < particles; ++p) {
      patience.pause();
      Particle& particle = now[p];
      Measure& measure = particle.measure;
      const int k = static_cast<int>(particle.sizes.size()), there = measure.group_sizes()[t];
      if (there == 0 && !measure.u_integrated()) {
        const double before = i == 0 ? 0.0 : particle.log_prior();
        measure.add_point(t);
        log_weight[p] += open_group(particle, t, before, rng);
      } else {
        if (measure.u_integrated())
          log_weight[p] -= std::log(measure.alpha() + i);
        else
          log_weight[p] += measure.log_u(t) - measure.log_unit(t) - std::log(static_cast<double>(there));
        measure.add_point(t);
      }
      w.resize(padded(k + 1));
      particle.statistics->reserve(k + 2);
      if (k > 0) particle.statistics->log_predictive_front(row, k, w.data());
      for (int c = 0; c < k; ++c) {
        if (plain) {
          w[c] += std::log(particle.sizes[c] - measure.sigma()) + measure.join_shift(0);
          continue;
        }
        for (int r = 0; r < R; ++r) basis[r] = particle.q(c)[r] + measure.lq(t, r);
        w[c] += measure.log_weight(particle.sizes[c] + 1, basis.data()) - measure.log_weight(particle.sizes[c], particle.q(c));
      }
      w[k] = measure.log_new(t) + likelihood.log_single()[row];
      double top = w[0];
      for (int c = 1; c <= k; ++c) top = std::max(top, w[c]);
      const double total = simd().softmax(w.data(), k + 1);
      log_weight[p] += top + std::log(total);
      const int to = draw_index(rng, w.data(), k + 1, total);
      if (to == k) {
        particle.sizes.push_back(0);
        if (!plain) particle.log_q.insert(particle.log_q.end(), R, 0.0);
        particle.statistics->clear(k);
      }
      ++particle.sizes[to];
      if (!plain)
        for (int r = 0; r < R; ++r) particle.log_q[static_cast<std::size_t>(to) * R + r] += measure.lq(t, r);
      particle.statistics->add(to, row);
      particle.line.push_back(to);
    }
    const double log_total = log_sum(log_weight.data(), particles);
    double squares = 0.0;
    for (int p = 0; p < particles; ++p) {
      weight[p] = std::exp(log_weight[p] - log_total);
      squares += weight[p] * weight[p];
    }
    result.effective.push_back(1.0 / squares);
    if (1.0 / squares < threshold * particles && i + 1 < n) {
      result.log_evidence += log_total - std::log(static_cast<double>(particles));
      ++result.resamplings;
      // Systematic resampling.
      const double offset = rng.uniform();
      double seen = 0.0;
      int out = 0;
      for (int p = 0; p < particles; ++p) {
        seen += weight[p] * particles;
        while (out < particles && out + offset < seen) next[out++].copy_from(now[p]);
      }
      while (out < particles) next[out++].copy_from(now[particles - 1]);
      std::swap(now, next);
      std::fill(log_weight.begin(), log_weight.end(), 0.0);
    }
    for (Particle& particle : now) {
      particle.measure.update_u(rng, particle.sizes, particle.log_q);
      particle.measure.update_hyper(rng, particle.sizes, particle.log_q, true);
    }
  }
  const double log_total = log_sum(log_weight.data(), particles);
  result.log_evidence += log_total - std::log(static_cast<double>(particles));
  result.labels.resize(static_cast<std::size_t>(particles) * n);
  std::vector<int> raw(n);
  for (int p = 0; p < particles; ++p) {
    Particle& particle = now[p];
    for (int i = 0; i < n; ++i) raw[order[i]] = particle.line[i];
    canonical_labels(raw, &result.labels[static_cast<std::size_t>(p) * n]);
    result.log_weights.push_back(log_weight[p] - log_total);
    for (int t = 0; t < prior.groups; ++t) result.log_u.push_back(particle.measure.log_u(t));
    for (int r = 0; r < R; ++r) result.alpha.push_back(particle.measure.alpha(r));
    result.sigma.push_back(particle.measure.sigma());
    result.tau.push_back(particle.measure.tau());
    result.theta.push_back(particle.measure.theta());
    result.first_ancestors.push_back(particle.first);
    double log_joint = particle.measure.log_partition(particle.sizes, particle.log_q);
    for (int c = 0; c < static_cast<int>(particle.sizes.size()); ++c) log_joint += particle.statistics->log_marginal(c);
    result.log_joint.push_back(log_joint);
  }
  return result;
}

}  // namespace hedgerow
