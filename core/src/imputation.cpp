// Draws of missing entries; formulas in gaussian_wishart_gaps.hpp.
#include "hedgerow/imputation.hpp"

#include "hedgerow/aligned.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

// A slot of the partition's statistics with no rows.
int empty_slot(Partition& partition) {
  const int slot = partition.scratch(0);
  partition.statistics().clear(slot);
  return slot;
}

}  // namespace

std::shared_ptr<const Likelihood> with_own_imputations(std::shared_ptr<const Likelihood> likelihood) {
  std::shared_ptr<const Likelihood> own = likelihood->fork();
  return own ? own : likelihood;
}

void impute_with_labels(State& state) {
  Partition& partition = state.partition;
  Statistics& statistics = partition.statistics();
  JoinWeights weights;
  AlignedVector<double> w;
  const Likelihood& likelihood = partition.likelihood();
  std::vector<double> filling;
  weights.reset(state.measure, partition);
  for (int row : likelihood.imputed_rows()) {
    const int from = partition.label(row);
    const bool alone = partition.size(from) == 1;
    partition.take_out(row);
    weights.left(from);
    const int k = partition.clusters(), t = partition.group(row), fresh = empty_slot(partition);
    w.resize(padded(k + 1));
    statistics.log_observed_front(row, k, w.data());
    weights.add_to(t, w.data());
    w[k] = state.measure.log_new(t) + statistics.log_observed(row, fresh);
    const double total = simd().softmax(w.data(), k + 1);
    int to = draw_index(state.rng, w.data(), k + 1, total);
    const int among = to == k ? fresh : to;
    if (likelihood.power() == 1.0) {
      statistics.impute(row, among, state.rng);
    } else {  // a proposal, drawn from all of the target but the tilt
      filling.clear();
      likelihood.save_filling(row, filling);
      const double before = statistics.log_tilt(row, fresh);
      statistics.impute(row, among, state.rng);
      if (std::log(state.rng.uniform()) >= statistics.log_tilt(row, fresh) - before) {
        likelihood.load_filling(row, filling);
        to = alone ? k : from;
      }
    }
    partition.insert(row, to);
    weights.follow({to, to, false});
  }
}

void impute_given_labels(State& state, const std::vector<int>& labels, int sweeps) {
  Partition& partition = state.partition;
  const std::vector<int> rows = partition.likelihood().imputed_rows();
  if (rows.empty()) return;
  std::vector<int> known = labels;
  known.resize(partition.likelihood().rows(), -1);
  Statistics& statistics = partition.statistics();
  for (int sweep = 0; sweep <= sweeps; ++sweep) {
    // A slot may be without a whole row at first, so only the statistics are filled here; the caller's partition is made anew afterwards.
    if (sweep == 0) {
      int k = 0;
      for (int c : known) k = std::max(k, c + 1);
      statistics.reset(k + 8);
      std::vector<char> open(known.size(), 0);
      for (int row : rows) open[row] = 1;
      for (std::size_t i = 0; i < known.size(); ++i)
        if (known[i] >= 0 && !open[i]) statistics.add(known[i], static_cast<int>(i));
    }
    for (int row : rows) {
      if (known[row] < 0) continue;
      if (sweep > 0 && !statistics.remove(known[row], row)) {
        statistics.clear(known[row]);
        for (std::size_t i = 0; i < known.size(); ++i)
          if (known[i] == known[row] && static_cast<int>(i) != row) statistics.add(known[row], static_cast<int>(i));
      }
      statistics.impute(row, known[row], state.rng);
      statistics.add(known[row], row);
    }
  }
}

double impute_for_roots(Forest& forest, int row, Rng& rng) {
  Statistics& panel = forest.panel();
  const int k = forest.roots();
  panel.reserve(k + 1);
  panel.clear(k);
  const Measure& measure = forest.measure();
  int best = k;
  double highest = measure.log_new(forest.group(row)) + panel.log_observed(row, k);
  AlignedVector<double> density(padded(k));
  panel.log_observed_front(row, k, density.data());
  for (int c = 0; c < k; ++c) {
    const double here = forest.joined_weight(forest.root(c), ~row) - forest.weight(forest.root(c)) + density[c];
    if (here <= highest) continue;
    highest = here;
    best = c;
  }
  const double log_density = panel.impute(row, best, rng, true);
  panel.clear(k);
  return log_density - panel.log_tilt(row, k);
}

}  // namespace hedgerow
