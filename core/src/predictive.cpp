// Predictive densities of new rows under one draw.
#include "hedgerow/predictive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "hedgerow/aligned.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

namespace {

// Rows first.. against clusters 0..k-1 of the statistics; slot `empty` has none.
void new_rows(const Likelihood& likelihood, Statistics& statistics, NextPoint& next, int k, int empty, int first,
              const std::vector<int>& groups, double* out) {
  const int n_new = likelihood.rows() - first;
  AlignedVector<double> density(padded(k + 1));
  std::vector<char> gaps(likelihood.rows(), 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  statistics.clear(empty);
  for (int i = 0; i < n_new; ++i) {
    const int row = first + i;
    if (gaps[row]) {  // its entries that are there, and nothing is filled in
      for (int c = 0; c < k; ++c) density[c] = statistics.log_observed(row, c);
      density[k] = statistics.log_observed(row, empty);
    } else {
      statistics.log_predictive_front(row, k, density.data());
      density[k] = likelihood.log_single()[row];
    }
    next.add_to(groups.empty() ? 0 : groups[i], density.data());
    std::copy_n(density.data(), k + 1, out + static_cast<std::size_t>(i) * (k + 1));
  }
}

// Weights of clusters and of a new one for a row of cluster `own` that is taken out, under a measure with one group.
class PlainWeights {
 public:
  PlainWeights(const Measure& measure, const std::vector<int>& sizes)
      : sizes_(sizes),
        sigma_(measure.sigma()),
        whole_(measure.predictive(static_cast<int>(sizes.size()))),
        without_(measure.predictive(std::max(static_cast<int>(sizes.size()) - 1, 1))) {}

  void put(int own, double* prior) const {
    const int k = static_cast<int>(sizes_.size());
    const Predictive& p = sizes_[own] == 1 ? without_ : whole_;  // without it a cluster of its own is not there
    for (int c = 0; c < k; ++c) prior[c] = std::log(p.join) + std::log(sizes_[c] - (c == own ? 1 : 0) - sigma_);
    prior[k] = std::log(p.fresh);
  }

 private:
  const std::vector<int>& sizes_;
  double sigma_;
  Predictive whole_, without_;
};

// log Σ w_c p_c − log Σ w_c; a cluster that the row has alone counts nowhere.
double mixed(double* prior, const double* density, int k, int own, bool alone) {
  if (alone) prior[own] = -std::numeric_limits<double>::infinity();
  const double all = log_sum(prior, k + 1);
  for (int c = 0; c <= k; ++c) prior[c] += density[c];
  return log_sum(prior, k + 1) - all;
}

}  // namespace

void predictive(State& state, int n_old, const std::vector<int>& new_groups, double* out) {
  Partition& partition = state.partition;
  NextPoint next(state.measure, partition.sizes(), partition.log_q(), false);
  new_rows(partition.likelihood(), partition.statistics(), next, partition.clusters(), partition.scratch(0), n_old, new_groups, out);
}

void predictive(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
                double* out) {
  const int k = static_cast<int>(sizes.size());
  NextPoint next(measure, sizes, {}, false);
  new_rows(likelihood, statistics, next, k, k, 0, {}, out);
}

// Log densities of the entries of a row that are there, given every cluster without it and given none.
static void observed_left_out(Partition& partition, int row, double* out) {
  Statistics& statistics = partition.statistics();
  const int k = partition.clusters(), own = partition.label(row), rest = partition.scratch(0);
  statistics.copy(rest, own);
  if (!statistics.remove(rest, row)) {
    statistics.clear(rest);
    for (int i = 0; i < partition.rows(); ++i)
      if (i != row && partition.label(i) == own) statistics.add(rest, i);
  }
  for (int c = 0; c < k; ++c) out[c] = statistics.log_observed(row, c == own ? rest : c);
  statistics.clear(rest);
  out[k] = statistics.log_observed(row, rest);
}

void left_out(State& state, double* out) {
  Partition& partition = state.partition;
  const Likelihood& likelihood = partition.likelihood();
  const int k = partition.clusters(), n = partition.rows();
  AlignedVector<double> density(padded(k + 1)), prior(padded(k + 1));
  const Measure& measure = state.measure;
  const bool plain = measure.trivial_q();
  const PlainWeights plain_weights(measure, partition.sizes());
  JoinWeights weights;
  if (!plain) weights.reset(measure, partition);
  std::vector<char> gaps(n, 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  for (int i = 0; i < n; ++i) {
    const int own = partition.label(i), t = partition.group(i);
    const bool alone = partition.size(own) == 1;
    if (gaps[i]) {
      observed_left_out(partition, i, density.data());
    } else {
      partition.statistics().log_predictive_front(i, k, density.data());
      density[own] = alone ? 0.0 : partition.statistics().log_predictive_without(i, own);
      density[k] = likelihood.log_single()[i];
    }
    std::fill(prior.begin(), prior.end(), 0.0);
    if (plain) {
      plain_weights.put(own, prior.data());
    } else {
      weights.add_to(t, prior.data());
      prior[own] = weights.own(i);
      prior[k] = measure.log_new(t);
    }
    out[i] = mixed(prior.data(), density.data(), k, own, alone);
  }
}

void left_out(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
              const std::vector<int>& labels, double* out) {
  if (!likelihood.imputed_rows().empty()) throw std::invalid_argument("rows that are filled in need the fillings of every draw");
  const int k = static_cast<int>(sizes.size());
  AlignedVector<double> density(padded(k + 1)), prior(padded(k + 1));
  const PlainWeights weights(measure, sizes);
  for (int i = 0; i < likelihood.rows(); ++i) {
    const int own = labels[i];
    const bool alone = sizes[own] == 1;
    statistics.log_predictive_front(i, k, density.data());
    density[own] = alone ? 0.0 : statistics.log_predictive_without(i, own);
    density[k] = likelihood.log_single()[i];
    weights.put(own, prior.data());
    out[i] = mixed(prior.data(), density.data(), k, own, alone);
  }
}

}  // namespace hedgerow
