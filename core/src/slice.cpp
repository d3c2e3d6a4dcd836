// The slice sampler; see slice.hpp for the law it follows.
#include "hedgerow/kernels/slice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr std::int64_t kMostJumps = 20000000;

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "Slice: more than twenty million jumps of the measure lie above the slices, as happens when alpha or sigma "
      "is large. Fix a smaller one or use another kernel, such as TreeGuided()");
}

// Expected jumps above L, from below: the integral of α/Γ(1−σ) e^(−σv−e^(v+log b)) over v = log w, by its least value on each
// interval. Too many are refused on it at once, rather than after most of a minute spent on drawing them.
double fewest_jumps(const Measure& measure, double log_rate, double log_least) {
  constexpr int kIntervals = 256;
  const double sigma = measure.sigma(), end = std::max(log_least, -log_rate) + 2.0;  // little lies beyond b w = e²
  const double width = (end - log_least) / kIntervals;
  double total = 0.0;
  for (int i = 1; i <= kIntervals; ++i) {
    const double v = log_least + width * i;
    total += std::exp(std::log(measure.alpha()) - lgamma(1.0 - sigma) - sigma * v - std::exp(v + log_rate));
  }
  return total * width;
}
}  // namespace

// Points of the intensity α/Γ(1−σ) w^(−1−σ) e^(−bw) above L, left to right: beyond the last point t it is bounded by
// α/Γ(1−σ) t^(−1−σ) e^(−bw), whose next point has a closed form; it is kept with probability (w/t)^(−1−σ). Returns the log of
// the next point after log_t, or +∞.
double Slice::next_jump(State& state, double log_rate, double log_t) const {
  const double sigma = state.measure.sigma();
  const double log_front = std::log(state.measure.alpha()) - lgamma(1.0 - sigma) - log_rate;
  for (;;) {
    const double log_mass = log_front - (1.0 + sigma) * log_t - std::exp(log_rate + log_t);  // of the bound beyond t
    const double used = state.rng.exponential() * std::exp(-log_mass);
    if (used >= 1.0) return kInf;
    const double step = -std::log1p(-used);  // b(w − t)
    const double log_w = log_add(log_t, std::log(step) - log_rate);
    if (std::log(state.rng.uniform_open()) < -(1.0 + sigma) * (log_w - log_t)) return log_w;
    log_t = log_w;
  }
}

// One atom offered to every row whose slice lies below its weight. Rows keep one of the atoms offered so far, each with
// probability proportional to its density, so no atom need be remembered: there may be millions, and few are ever taken.
void Slice::offer(State& state, int id, double log_weight, const double* atom) {
  Statistics& statistics = state.partition.statistics();
  for (int row : by_slice_) {
    if (log_slice_[row] >= log_weight) return;
    const double density = statistics.log_density(row, atom);
    const double before = log_total_[row];
    log_total_[row] = log_add(before, density);
    if (before == -kInf || std::log(state.rng.uniform_open()) < density - log_total_[row]) chosen_[row] = id;
  }
}

void Slice::step(State& state) {
  Partition& partition = state.partition;
  Statistics& statistics = partition.statistics();
  Rng& rng = state.rng;
  const int n = partition.rows(), k = partition.clusters(), size = statistics.atom_size();
  if (size == 0) throw std::invalid_argument("Slice needs a likelihood whose parameters can be drawn; Custom is not one");
  if (!state.measure.trivial_q()) throw std::invalid_argument("Slice handles one measure; use another kernel under a MixedNRM prior");
  const double log_rate = log_add(state.measure.log_u(), state.measure.tau() > 0.0 ? std::log(state.measure.tau()) : -kInf);

  std::vector<double> log_weight(k), atom(size);
  for (int c = 0; c < k; ++c) log_weight[c] = rng.log_gamma_variate(partition.size(c) - state.measure.sigma()) - log_rate;
  log_slice_.resize(n);
  by_slice_.resize(n);
  for (int i = 0; i < n; ++i) log_slice_[i] = log_weight[partition.label(i)] + std::log(rng.uniform_open());
  std::iota(by_slice_.begin(), by_slice_.end(), 0);
  std::sort(by_slice_.begin(), by_slice_.end(), [&](int a, int b) { return log_slice_[a] < log_slice_[b]; });
  log_total_.assign(n, -kInf);
  chosen_.assign(n, -1);
  for (int c = 0; c < k; ++c) {
    statistics.draw_atom(c, rng, atom.data());
    offer(state, c, log_weight[c], atom.data());
  }
  const int empty = partition.scratch(0);
  statistics.clear(empty);
  const double log_least = log_slice_[by_slice_[0]];
  if (fewest_jumps(state.measure, log_rate, log_least) > static_cast<double>(kMostJumps)) refuse();
  std::int64_t jumps = 0;
  for (double w = next_jump(state, log_rate, log_least); w < kInf; w = next_jump(state, log_rate, w)) {
    if (++jumps > kMostJumps) refuse();
    statistics.draw_atom(empty, rng, atom.data());
    offer(state, k + static_cast<int>(jumps) - 1, w, atom.data());
  }
  atoms_count_ = static_cast<double>(k + jumps);

  moved_ = 0.0;
  for (int i = 0; i < n; ++i) moved_ += chosen_[i] != partition.label(i);
  std::unordered_map<int, int> slot;
  std::vector<int> labels(n);
  for (int i = 0; i < n; ++i) labels[i] = slot.try_emplace(chosen_[i], static_cast<int>(slot.size())).first->second;
  partition.assign(labels);
}

}  // namespace hedgerow
