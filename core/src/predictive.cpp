// Predictive densities of new rows under one draw.
#include "hedgerow/predictive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hedgerow/aligned.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

void predictive(State& state, int n_old, const std::vector<int>& new_groups, double* out) {
  Partition& partition = state.partition;
  const Likelihood& likelihood = partition.likelihood();
  const int k = partition.clusters(), n_new = likelihood.rows() - n_old;
  AlignedVector<double> density(padded(k + 1));
  NextPoint next(state.measure, partition.sizes(), partition.log_q(), false);
  Statistics& statistics = partition.statistics();
  std::vector<char> gaps(likelihood.rows(), 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  const int empty = partition.scratch(0);
  statistics.clear(empty);
  for (int i = 0; i < n_new; ++i) {
    const int row = n_old + i;
    if (gaps[row]) {  // its entries that are there, and nothing is filled in
      for (int c = 0; c < k; ++c) density[c] = statistics.log_observed(row, c);
      density[k] = statistics.log_observed(row, empty);
    } else {
      statistics.log_predictive_front(row, k, density.data());
      density[k] = likelihood.log_single()[row];
    }
    next.add_to(new_groups.empty() ? 0 : new_groups[i], density.data());
    std::copy_n(density.data(), k + 1, out + static_cast<std::size_t>(i) * (k + 1));
  }
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
  JoinWeights weights;
  Predictive whole{}, without{};  // with all clusters, and with one less
  if (plain) {
    whole = measure.predictive(k);
    without = measure.predictive(std::max(k - 1, 1));
  } else {
    weights.reset(measure, partition);
  }
  std::vector<char> gaps(n, 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  for (int i = 0; i < n; ++i) {
    const int own = partition.label(i), t = partition.group(i);
    const bool alone = partition.size(own) == 1;  // without it the cluster is not there
    if (gaps[i]) {
      observed_left_out(partition, i, density.data());
    } else {
      partition.statistics().log_predictive_front(i, k, density.data());
      density[own] = alone ? 0.0 : partition.statistics().log_predictive_without(i, own);
      density[k] = likelihood.log_single()[i];
    }
    std::fill(prior.begin(), prior.end(), 0.0);
    if (plain) {
      const Predictive& p = alone ? without : whole;
      for (int c = 0; c < k; ++c) prior[c] = std::log(p.join) + std::log(partition.size(c) - (c == own ? 1 : 0) - measure.sigma());
      prior[k] = std::log(p.fresh);
    } else {
      weights.add_to(t, prior.data());
      prior[own] = weights.own(i);
      prior[k] = measure.log_new(t);
    }
    if (alone) prior[own] = -std::numeric_limits<double>::infinity();
    const double all = log_sum(prior.data(), k + 1);
    for (int c = 0; c <= k; ++c) prior[c] += density[c];
    out[i] = log_sum(prior.data(), k + 1) - all;
  }
}

}  // namespace hedgerow
