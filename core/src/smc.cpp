// Particles over growing partitions; formulas in smc.hpp.
#include "hedgerow/smc.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hedgerow/aligned.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

struct Particle {
  Particle(const Likelihood& likelihood, const Prior& prior) : measure(prior, {1}), statistics(likelihood.statistics(Layout::clusters)) {}

  void copy_from(Particle& other) {
    measure = other.measure;
    sizes = other.sizes;
    statistics->reserve(static_cast<int>(sizes.size()) + 1);
    for (int c = 0; c < static_cast<int>(sizes.size()); ++c) statistics->load(c, *other.statistics, c);
    line = other.line;
    first = other.first;
  }

  Measure measure;
  std::unique_ptr<Statistics> statistics;
  std::vector<int> sizes;
  std::vector<int> line;  // slot of each row so far, in order of arrival
  int first = 0;
};

// Before any data: hyper-parameters from their laws, and u from e^(−ψ(u)) ψ'(u), its law given one point.
void draw_start(Particle& particle, const Prior& prior, Rng& rng) {
  double alpha = prior.alpha, sigma = prior.sigma, tau = prior.tau, theta = prior.theta;
  auto beta = [&](const Law& law) {
    const double a = rng.log_gamma_variate(law.a), b = rng.log_gamma_variate(law.b);
    return 1.0 / (1.0 + std::exp(b - a));
  };
  if (prior.sigma_law) sigma = std::clamp(beta(*prior.sigma_law), 1e-12, 1.0 - 1e-12);
  if (prior.tau_law) tau = rng.gamma(prior.tau_law->a, prior.tau_law->b);
  if (prior.theta_law) theta = rng.gamma(prior.theta_law->a, prior.theta_law->b);
  if (prior.kind == PriorKind::py) {
    tau = 1.0;
    alpha = rng.gamma(theta / sigma, 1.0 / sigma);
  } else if (prior.alpha_law) {
    alpha = rng.gamma(prior.alpha_law->a, prior.alpha_law->b);
  }
  alpha = std::max(alpha, 1e-300);
  // ψ(u) = e: invert, in logs.
  const double e = rng.exponential() / alpha;
  double log_u;
  if (tau == 0.0) log_u = std::log(sigma * e) / sigma;
  else if (sigma == 0.0) log_u = std::log(tau) + std::log(std::expm1(std::min(e, 600.0)));
  else log_u = std::log(tau) + std::log(std::expm1(std::log1p(sigma * e * std::exp(-sigma * std::log(tau))) / sigma));
  log_u = std::clamp(log_u, -690.0, 690.0);
  particle.measure.set(&log_u, &alpha, sigma, tau, theta);
}

}  // namespace

SmcResult smc(const Likelihood& likelihood, const Prior& prior, int particles, double threshold, std::uint64_t seed, std::uint64_t stream,
              bool shuffle, const bool* stop) {
  Rng rng(seed, stream);
  const int n = likelihood.rows();
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (shuffle)
    for (int i = 0; i < n; ++i) std::swap(order[i], order[i + rng.index(n - i)]);

  std::vector<Particle> now, next;
  for (int p = 0; p < particles; ++p) {
    now.emplace_back(likelihood, prior);
    next.emplace_back(likelihood, prior);
    now[p].first = p;
    draw_start(now[p], prior, rng);
  }
  std::vector<double> log_weight(particles, 0.0), weight(particles);
  AlignedVector<double> w;
  SmcResult result;
  const std::vector<double> none;
  for (int i = 0; i < n; ++i) {
    if (stop && *stop) return result;
    const int row = order[i];
    for (int p = 0; p < particles; ++p) {
      Particle& particle = now[p];
      Measure& measure = particle.measure;
      const int k = static_cast<int>(particle.sizes.size());
      w.resize(padded(k + 1));
      particle.statistics->reserve(k + 2);
      if (k > 0) particle.statistics->log_predictive_front(row, k, w.data());
      const double sigma = measure.sigma();
      for (int c = 0; c < k; ++c) w[c] += std::log(particle.sizes[c] - sigma) + measure.join_shift(0);
      w[k] = measure.log_new(0) + likelihood.log_single()[row];
      double top = w[0];
      for (int c = 1; c <= k; ++c) top = std::max(top, w[c]);
      const double total = simd().softmax(w.data(), k + 1);
      double step = top + std::log(total);
      if (measure.u_integrated()) step -= std::log(measure.alpha() + i);
      else if (i > 0) step += measure.log_u() - std::log(static_cast<double>(i));
      else step -= measure.log_new(0);  // u was drawn from its law given one point, which holds κ(1, u)
      log_weight[p] += step;
      const int to = draw_index(rng, w.data(), k + 1, total);
      if (to == k) {
        particle.sizes.push_back(0);
        particle.statistics->clear(k);
      }
      ++particle.sizes[to];
      particle.statistics->add(to, row);
      particle.line.push_back(to);
      measure.set_group_sizes({i + 1});
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
      particle.measure.update_u(rng, particle.sizes, none);
      particle.measure.update_hyper(rng, particle.sizes, none);
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
    result.log_u.push_back(particle.measure.log_u());
    result.alpha.push_back(particle.measure.alpha());
    result.sigma.push_back(particle.measure.sigma());
    result.tau.push_back(particle.measure.tau());
    result.theta.push_back(particle.measure.theta());
    result.first_ancestors.push_back(particle.first);
    double log_joint = particle.measure.log_partition(particle.sizes, none);
    for (int c = 0; c < static_cast<int>(particle.sizes.size()); ++c) log_joint += particle.statistics->log_marginal(c);
    result.log_joint.push_back(log_joint);
  }
  return result;
}

}  // namespace hedgerow
