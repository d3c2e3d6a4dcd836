// Predictive densities of new rows under one draw.
#include "hedgerow/predictive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "hedgerow/aligned.hpp"
#include "hedgerow/special.hpp"
#include "stretches.hpp"

namespace hedgerow {

namespace {

constexpr double kNothing = -745.0;           // exp of anything less is zero
constexpr double kNear = 38.0;                // and e^-38 of anything above one
constexpr double kFar = 60.0, kSmall = 1e-9;  // e^-60 is less than half the last bit of anything that is not small

// log(exp(x) + exp(y)) in NumPy's steps.
double numpy_log_add(double x, double y) {
  if (x == y) return x + std::numbers::ln2;
  const double apart = x - y;
  return apart > 0.0 ? x + std::log1p(std::exp(-apart)) : y + std::log1p(std::exp(apart));
}

// The sum of all in NumPy's order, to the last bit; what would change none is passed over.
double numpy_log_sum(const double* x, int n) {
  double sum = x[0];
  for (int i = 1; i < n; ++i)
    if (!(x[i] < sum - (std::abs(sum) > 1.0 ? kNear : kFar) && std::abs(sum) > kSmall)) sum = numpy_log_add(sum, x[i]);
  return sum;
}

// Log densities of a row given each of k clusters and given none; slot k is empty.
void put_densities(const Likelihood& likelihood, Statistics& statistics, int k, int row, bool gaps, double* out) {
  if (gaps) {  // its entries that are there, and nothing is filled in
    statistics.log_observed_front(row, k, out);
    out[k] = statistics.log_observed(row, k);
    return;
  }
  statistics.log_predictive_front(row, k, out);
  out[k] = likelihood.log_single()[row];
}

}  // namespace

Foresight::Foresight(State& state, int n_old, int threads)
    : likelihood_(state.partition.likelihood()), n_old_(n_old), k_(state.partition.clusters()), gaps_(rows(), 0) {
  Partition& partition = state.partition;
  for (int row : likelihood_.imputed_rows())
    if (row >= n_old_) gaps_[row - n_old_] = 1;
  const NextPoint next(state.measure, partition.sizes(), partition.log_q(), false);
  const int empty = partition.scratch(0);
  partition.statistics().clear(empty);
  for (int t = 0; t < threads; ++t) {
    std::unique_ptr<Statistics> own = t > 0 ? clusters_again(partition) : nullptr;
    Statistics* statistics = t > 0 ? own.get() : &partition.statistics();
    threads_.push_back({std::move(own), statistics, next, AlignedVector<double>(padded(k_ + 1))});
  }
}

const double* Foresight::look(int t, int i, const std::vector<int>& groups) {
  Thread& thread = threads_[t];
  Statistics& statistics = *thread.statistics;
  double* density = thread.density.data();
  const int row = n_old_ + i;
  put_densities(likelihood_, statistics, k_, row, gaps_[i], density);
  thread.next.add_to(groups.empty() ? 0 : groups[i], density);
  return density;
}

void Foresight::weights(const std::vector<int>& groups, double* out) {
  in_stretches(static_cast<int>(threads_.size()), rows(),
               [&](int t, int i) { std::copy_n(look(t, i, groups), k_ + 1, out + static_cast<std::size_t>(i) * (k_ + 1)); });
}

void Foresight::add_density(const std::vector<int>& groups, double* log_total) {
  in_stretches(static_cast<int>(threads_.size()), rows(),
               [&](int t, int i) { log_total[i] = numpy_log_add(log_total[i], numpy_log_sum(look(t, i, groups), k_ + 1)); });
}

void Foresight::add_company(const std::vector<int>& groups, const Overlap& overlap, const Company& company) {
  in_stretches(static_cast<int>(threads_.size()), rows(), [&](int t, int i) {
    const double* weight = look(t, i, groups);
    double* with = company.with + static_cast<std::size_t>(i) * overlap.width;
    const double high = std::max(company.top[i], *std::max_element(weight, weight + k_ + 1));
    if (high == -kInf) return;
    if (high > company.top[i]) {
      const double shrink = std::exp(company.top[i] - high);
      for (int p = 0; p < overlap.width; ++p) with[p] *= shrink;
      company.alone[i] *= shrink;
      company.all[i] *= shrink;
      company.top[i] = high;
    }
    for (int c = 0; c < k_; ++c) {
      if (weight[c] - high < kNothing) continue;
      const double share = std::exp(weight[c] - high);
      company.all[i] += share;
      for (int e = overlap.start[c]; e < overlap.start[c + 1]; ++e) with[overlap.cluster[e]] += share * overlap.share[e];
    }
    const double alone = std::exp(weight[k_] - high);
    company.alone[i] += alone;
    company.all[i] += alone;
  });
}

void predictive(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
                double* out) {
  const int k = static_cast<int>(sizes.size());
  NextPoint next(measure, sizes, {}, false);
  std::vector<char> gaps(likelihood.rows(), 0);
  for (int row : likelihood.imputed_rows()) gaps[row] = 1;
  AlignedVector<double> density(padded(k + 1));
  statistics.clear(k);
  for (int row = 0; row < likelihood.rows(); ++row, out += k + 1) {
    put_densities(likelihood, statistics, k, row, gaps[row], density.data());
    next.add_to(0, density.data());
    std::copy_n(density.data(), k + 1, out);
  }
}

}  // namespace hedgerow
