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

  // Log of the prior's part of the target, as a density of log ξ.
  double log_prior() const {
    double total = measure.log_front_in_logs();
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

// A density on the line that is linear in its logarithm between nodes. They stand close round the mode and ever farther apart from
// there on, until the density is lost: tails may fall over a few units or over billions.
class Ladder {
 public:
  template <class LogDensity>
  Ladder(double start, const LogDensity& log_density) {
    double step = 1.0, top = log_density(start);
    for (int idle = 0; step > 0.2;) {  // climb with steps that double, then halve them
      const double up = log_density(start + step), down = log_density(start - step);
      if (std::max(up, down) > top) {
        start += up >= down ? step : -step;
        top = std::max(up, down);
        step *= idle == 0 ? 2.0 : 1.0;
      } else {
        idle = 1;
        step *= 0.5;
      }
    }
    for (double side : {-1.0, 1.0}) {
      double gap = 0.2, reach = 0.0;
      for (double height = top; height > top - kDrop && at_.size() < kMost;) {
        height = std::max(log_density(start + side * (reach += gap)), top - 700.0);
        at_.push_back(start + side * reach);
        height_.push_back(height - top);
        gap *= 1.15;
      }
      if (side < 0.0) {
        std::reverse(at_.begin(), at_.end());
        std::reverse(height_.begin(), height_.end());
        at_.push_back(start);
        height_.push_back(0.0);
      }
    }
    for (std::size_t i = 0; i + 1 < at_.size(); ++i) {
      const double rise = height_[i + 1] - height_[i];
      mass_.push_back((at_[i + 1] - at_[i]) * std::exp(height_[i]) * (std::abs(rise) < 1e-9 ? 1.0 : std::expm1(rise) / rise));
      total_ += mass_.back();
    }
  }

  // A draw, and the log of its density.
  std::pair<double, double> draw(Rng& rng) const {
    const int i = draw_index(rng, mass_.data(), static_cast<int>(mass_.size()), total_);
    const double rise = height_[i + 1] - height_[i], u = rng.uniform();
    const double share = std::abs(rise) < 1e-9 ? u : std::log1p(u * std::expm1(rise)) / rise;
    return {at_[i] + share * (at_[i + 1] - at_[i]), height_[i] + share * rise - std::log(total_)};
  }

 private:
  static constexpr double kDrop = 40.0;
  static constexpr std::size_t kMost = 2000;
  std::vector<double> at_, height_, mass_;
  double total_ = 0.0;
};

// The first ξ of all: Σ_r ψ_r(q[t,r] ξ) is a standard exponential, and a partition of one row has probability 1.
void open_first(Measure& measure, int t, Rng& rng) {
  const double wanted = rng.exponential();
  auto exponent = [&](double v) {
    measure.set_log_xi(t, v);
    return measure.exponent();
  };
  double low = -1.0, high = 1.0;
  while (exponent(low) > wanted) low *= 2.0;
  while (exponent(high) < wanted) high *= 2.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (exponent(middle) < wanted ? low : high) = middle;
  }
  measure.set_log_xi(t, 0.5 * (low + high));
}

// ξ_t of a group that gets its first row, drawn from nearly its conditional given what is there, with the row's prior mass over all
// clusters. Returns the log weight: target over proposal, but for the row. Call after the group's count became 1, with the row
// itself not yet in.
double open_group(Particle& particle, int t, bool first, double log_prior_before, Rng& rng) {
  Measure& measure = particle.measure;
  const int R = measure.bases();
  // A Pitman–Yor partition of one row has probability 1 whatever θ and σ; u and α are drawn once the row is in.
  if (first) {
    if (!measure.prior().form) open_first(measure, t, rng);
    return -measure.log_new(t);
  }
  std::vector<double> joined(R);
  const Ladder ladder(measure.log_u(t), [&](double v) {  // density of v = log ξ_t
    measure.set_log_xi(t, v);
    double row = measure.log_new(t);
    for (std::size_t c = 0; c < particle.sizes.size(); ++c) {
      const double* q = particle.q(static_cast<int>(c));
      for (int r = 0; r < R; ++r) joined[r] = q[r] + measure.lq(t, r);
      row = log_add(row, measure.log_weight(particle.sizes[c] + 1, joined.data()) - measure.log_weight(particle.sizes[c], q));
    }
    return particle.log_prior() + row;
  });
  const auto [v, log_proposal] = ladder.draw(rng);
  measure.set_log_xi(t, v);
  return particle.log_prior() - log_prior_before - log_proposal;
}

}  // namespace

SmcResult smc(const Likelihood& shared, const Prior& prior, const std::vector<int>& groups, int particles, double threshold,
              std::uint64_t seed, std::uint64_t sequence, bool shuffle) {
  // Missing entries are filled in when their row arrives, in each particle anew; nothing looks at the row again.
  const std::shared_ptr<const Likelihood> own = shared.fork();
  const Likelihood& likelihood = own ? *own : shared;
  Rng rng(seed, sequence);
  const int n = likelihood.rows(), R = prior.bases;
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (shuffle)
    for (int i = 0; i < n; ++i) std::swap(order[i], order[i + rng.index(n - i)]);
  if (!groups.empty()) std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return groups[a] < groups[b]; });

  std::vector<char> gaps(n, 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  std::vector<Particle> now, next;
  for (int p = 0; p < particles; ++p) {
    now.emplace_back(likelihood, prior);
    next.emplace_back(likelihood, prior);
    now[p].first = p;
    now[p].measure.draw_start(rng);
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
        log_weight[p] += open_group(particle, t, i == 0, before, rng);
      } else {
        if (measure.u_integrated())
          log_weight[p] -= std::log(measure.alpha() + i);
        else
          log_weight[p] += measure.log_next(t);
        measure.add_point(t);
      }
      w.resize(padded(k + 1));
      particle.statistics->reserve(k + 2);
      if (gaps[row]) {
        if (k > 0) particle.statistics->log_observed_front(row, k, w.data());
      } else if (k > 0) {
        particle.statistics->log_predictive_front(row, k, w.data());
      }
      for (int c = 0; c < k; ++c) {
        if (plain) {
          w[c] += std::log(particle.sizes[c] - measure.sigma()) + measure.join_shift(0);
          continue;
        }
        for (int r = 0; r < R; ++r) basis[r] = particle.q(c)[r] + measure.lq(t, r);
        w[c] += measure.log_weight(particle.sizes[c] + 1, basis.data()) - measure.log_weight(particle.sizes[c], particle.q(c));
      }
      if (gaps[row]) particle.statistics->clear(k);
      w[k] = measure.log_new(t) + (gaps[row] ? particle.statistics->log_observed(row, k) : likelihood.log_single()[row]);
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
      if (gaps[row]) {
        particle.statistics->impute(row, to, rng);
        particle.statistics->clear(k + 1);
        log_weight[p] += particle.statistics->log_tilt(row, k + 1);
      }
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
    result.measures.push_back(particle.measure.state());
    result.first_ancestors.push_back(particle.first);
    double log_joint = particle.measure.log_partition(particle.sizes, particle.log_q);
    for (int c = 0; c < static_cast<int>(particle.sizes.size()); ++c) log_joint += particle.statistics->log_marginal(c);
    result.log_joint.push_back(log_joint);
  }
  return result;
}

}  // namespace hedgerow
