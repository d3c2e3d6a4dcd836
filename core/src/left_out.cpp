// Densities of the rows of a draw, each given the others.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "hedgerow/aligned.hpp"
#include "hedgerow/predictive.hpp"
#include "hedgerow/special.hpp"
#include "stretches.hpp"

namespace hedgerow {

namespace {

// Log densities of the entries of a row that are there, given every cluster without it and given none; slot K is empty.
void observed(const Partition& partition, Statistics& statistics, int row, double* out) {
  const int k = partition.clusters(), own = partition.label(row), rest = k;
  statistics.copy(rest, own);
  if (!statistics.remove(rest, row)) {
    statistics.clear(rest);
    for (int i : partition.members(own))
      if (i != row) statistics.add(rest, i);
  }
  statistics.log_observed_front(row, k, out);
  out[own] = statistics.log_observed(row, rest);
  statistics.clear(rest);
  out[k] = statistics.log_observed(row, rest);
}

// Log prior weights of a row that is out, under the plain measure: with all clusters, and with one less.
class PlainWeights {
 public:
  PlainWeights(const Measure& measure, const std::vector<int>& sizes)
      : sigma_(measure.sigma()),
        whole_(measure.predictive(static_cast<int>(sizes.size()))),
        without_(measure.predictive(std::max(static_cast<int>(sizes.size()) - 1, 1))) {
    for (int size : sizes) {
      log_size_.push_back(std::log(size - sigma_));
      sum_ += size - sigma_;
    }
  }
  // Adds them to the densities of a row whose own cluster has so many rows; returns the log of their sum.
  double add_to(double* density, int own, int size) const {
    const int k = static_cast<int>(log_size_.size());
    const bool alone = size == 1;  // without it the cluster is not there
    const Predictive& p = alone ? without_ : whole_;
    const double join = std::log(p.join);
    const double own_density = density[own];
    for (int c = 0; c < k; ++c) density[c] += join + log_size_[c];
    density[own] = alone ? -kInf : own_density + join + std::log(size - 1 - sigma_);
    density[k] += std::log(p.fresh);
    return std::log(p.join * (sum_ - (alone ? 1.0 - sigma_ : 1.0)) + p.fresh);
  }

 private:
  double sigma_, sum_ = 0.0;
  Predictive whole_, without_;
  std::vector<double> log_size_;
};

// The same under a measure of groups. It and its panel remember what they were asked last, so every thread has its own.
class MixedWeights {
 public:
  MixedWeights(const Measure& measure, const Partition& partition)
      : measure_(std::make_unique<Measure>(measure)), partition_(partition), prior_(padded(partition.clusters() + 1)) {
    joins_.reset(*measure_, partition);
  }
  double add_to(double* density, int row) {
    const int k = partition_.clusters(), own = partition_.label(row), group = partition_.group(row);
    std::fill(prior_.begin(), prior_.end(), 0.0);
    joins_.add_to(group, prior_.data());
    prior_[own] = joins_.own(row);  // −∞ for one that it has alone
    prior_[k] = measure_->log_new(group);
    for (int c = 0; c <= k; ++c) density[c] += prior_[c];
    return log_sum(prior_.data(), k + 1);
  }

 private:
  std::unique_ptr<Measure> measure_;  // which the panel refers to
  const Partition& partition_;
  JoinWeights joins_;
  std::vector<double> prior_;
};

// Log densities of a row without gaps given each of k clusters without it, and given none.
void put_densities(const Likelihood& likelihood, Statistics& statistics, int k, int row, int own, bool alone, double* out) {
  statistics.log_predictive_front(row, k, out);
  out[own] = alone ? 0.0 : statistics.log_predictive_without(row, own);
  out[k] = likelihood.log_single()[row];
}

}  // namespace

void left_out(State& state, int threads, double* out) {
  Partition& partition = state.partition;
  const Likelihood& likelihood = partition.likelihood();
  const int k = partition.clusters(), n = partition.rows();
  const Measure& measure = state.measure;
  const bool plain = measure.trivial_q();
  std::unique_ptr<PlainWeights> weights;
  std::vector<MixedWeights> mixed;
  if (plain) weights = std::make_unique<PlainWeights>(measure, partition.sizes());
  for (int t = 0; t < threads && !plain; ++t) mixed.emplace_back(measure, partition);
  std::vector<char> gaps(n, 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  std::vector<std::unique_ptr<Statistics>> own_statistics;
  std::vector<AlignedVector<double>> densities(threads, AlignedVector<double>(padded(k + 1)));
  for (int t = 0; t < threads; ++t) own_statistics.push_back(clusters_again(partition));
  in_stretches(threads, n, [&](int t, int i) {
    Statistics& statistics = *own_statistics[t];
    double* density = densities[t].data();
    const int own = partition.label(i), size = partition.size(own);
    const bool alone = size == 1;
    if (gaps[i]) {
      observed(partition, statistics, i, density);
    } else {
      put_densities(likelihood, statistics, k, i, own, alone, density);
    }
    const double all = plain ? weights->add_to(density, own, size) : mixed[t].add_to(density, i);
    out[i] = log_sum_near(density, k + 1) - all;
  });
}

void left_out(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
              const std::vector<int>& labels, double* out) {
  if (!likelihood.imputed_rows().empty()) throw std::invalid_argument("rows that are filled in need the fillings of every draw");
  const int k = static_cast<int>(sizes.size());
  AlignedVector<double> density(padded(k + 1));
  const PlainWeights weights(measure, sizes);
  for (int i = 0; i < likelihood.rows(); ++i) {
    const int own = labels[i];
    put_densities(likelihood, statistics, k, i, own, sizes[own] == 1, density.data());
    const double all = weights.add_to(density.data(), own, sizes[own]);
    out[i] = log_sum_near(density.data(), k + 1) - all;
  }
}

}  // namespace hedgerow
