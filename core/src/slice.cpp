// The slice sampler; see slice.hpp for the law it follows.
#include "hedgerow/kernels/slice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr std::size_t kMostJumps = 1000000;
}

// Points of the intensity α/Γ(1−σ) w^(−1−σ) e^(−bw) above L, left to right: beyond the last point t it is bounded by
// α/Γ(1−σ) t^(−1−σ) e^(−bw), whose next point has a closed form; it is kept with probability (w/t)^(−1−σ).
void Slice::draw_jumps(State& state, double log_level, std::vector<double>& out) const {
  const Measure& measure = state.measure;
  const double sigma = measure.sigma();
  const double log_rate = log_add(measure.log_u(), measure.tau() > 0.0 ? std::log(measure.tau()) : -kInf);
  const double log_front = std::log(measure.alpha()) - lgamma(1.0 - sigma) - log_rate;
  double log_t = log_level;
  out.clear();
  for (;;) {
    const double bt = std::exp(log_rate + log_t);
    const double log_mass = log_front - (1.0 + sigma) * log_t - bt;  // of the bound beyond t
    const double used = state.rng.exponential() * std::exp(-log_mass);
    if (used >= 1.0) return;
    const double step = -std::log1p(-used);  // b(w − t)
    const double log_w = log_add(log_t, std::log(step) - log_rate);
    if (std::log(state.rng.uniform_open()) < -(1.0 + sigma) * (log_w - log_t)) out.push_back(log_w);
    if (out.size() > kMostJumps)
      throw std::runtime_error("Slice: more than a million jumps of the measure lie above the slices, because sigma is near 1. "
                               "Fix a smaller sigma or use another kernel, such as TreeGuided()");
    log_t = log_w;
  }
}

void Slice::step(State& state) {
  Partition& partition = state.partition;
  Statistics& statistics = partition.statistics();
  Rng& rng = state.rng;
  const int n = partition.rows(), k = partition.clusters(), size = statistics.atom_size();
  if (size == 0) throw std::invalid_argument("Slice needs a likelihood whose atoms can be drawn; this one has none");
  if (!state.measure.trivial_q()) throw std::invalid_argument("Slice handles one measure; use another kernel for mixed ones");
  const double log_rate = log_add(state.measure.log_u(), state.measure.tau() > 0.0 ? std::log(state.measure.tau()) : -kInf);

  log_weight_.resize(k);
  for (int c = 0; c < k; ++c) log_weight_[c] = rng.log_gamma_variate(partition.size(c) - state.measure.sigma()) - log_rate;
  log_slice_.resize(n);
  double lowest = kInf;
  for (int i = 0; i < n; ++i) {
    log_slice_[i] = log_weight_[partition.label(i)] + std::log(rng.uniform_open());
    lowest = std::min(lowest, log_slice_[i]);
  }
  std::vector<double> jumps;
  draw_jumps(state, lowest, jumps);
  const int total = k + static_cast<int>(jumps.size());
  atoms_count_ = total;
  atoms_.resize(static_cast<std::size_t>(total) * size);
  const int empty = partition.scratch(0);
  statistics.clear(empty);
  for (int c = 0; c < total; ++c) statistics.draw_atom(c < k ? c : empty, rng, &atoms_[static_cast<std::size_t>(c) * size]);
  log_weight_.insert(log_weight_.end(), jumps.begin(), jumps.end());

  // Rows choose among the atoms above their slice, evenly but for the density. Atoms by falling weight, so the search stops early.
  std::vector<int> by_weight(total), chosen(n), slot(total, -1);
  std::iota(by_weight.begin(), by_weight.end(), 0);
  std::sort(by_weight.begin(), by_weight.end(), [&](int a, int b) { return log_weight_[a] > log_weight_[b]; });
  moved_ = 0.0;
  density_.resize(total);
  for (int i = 0; i < n; ++i) {
    int count = 0;
    while (count < total && log_weight_[by_weight[count]] > log_slice_[i]) {
      density_[count] = statistics.log_density(i, &atoms_[static_cast<std::size_t>(by_weight[count]) * size]);
      ++count;
    }
    const double top = *std::max_element(density_.begin(), density_.begin() + count);
    double sum = 0.0;
    for (int a = 0; a < count; ++a) sum += density_[a] = std::exp(density_[a] - top);
    chosen[i] = by_weight[draw_index(rng, density_.data(), count, sum)];
    moved_ += chosen[i] != partition.label(i);
  }
  int next = 0;
  for (int& c : chosen) {
    if (slot[c] < 0) slot[c] = next++;
    c = slot[c];
  }
  partition.assign(chosen);
}

}  // namespace hedgerow
