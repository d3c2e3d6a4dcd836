// The Gibbs sweep. A row's own cluster is scored as if the row had left it, so statistics change only when it moves.
#include "hedgerow/kernels/gibbs.hpp"

#include <algorithm>
#include <numeric>

#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {
constexpr int kFewGroups = 16;
constexpr double kForget = 0.03;  // of what was seen of a row, at every new visit: a few dozen count
}  // namespace

void JoinWeights::reset(const Measure& measure, const Partition& partition, const std::vector<int>* bases) {
  measure_ = &measure;
  partition_ = &partition;
  bases_ = bases;
  panel_.emplace(measure);
  panel_->reserve(partition.clusters() + 1);
  for (int c = 0; c < partition.clusters(); ++c) load(c);
}

void JoinWeights::load(int c) {
  if (bases_)
    panel_->put_drawn(c, partition_->size(c), (*bases_)[c]);
  else
    panel_->put(c, partition_->size(c), partition_->log_q(c));
}

void JoinWeights::follow(const Partition::Moved& moved) {
  panel_->reserve(partition_->clusters() + 1);
  load(moved.to);
  if (moved.from < partition_->clusters()) load(moved.from);
}

void JoinWeights::left(int from) {
  if (from < partition_->clusters()) load(from);
}

void JoinWeights::add_to(int t, double* out) const { panel_->add_to(t, partition_->clusters(), out); }

double JoinWeights::own(int row) const {
  const int c = partition_->label(row), m = partition_->size(c), t = partition_->group(row);
  if (m == 1) return -kInf;
  if (bases_) return std::log((m - 1 - measure_->sigma()) * measure_->join_rate(t, (*bases_)[c]));
  return measure_->log_join(m, partition_->log_q(c), t);
}

void RowWatch::start(int rows) {
  opening.assign(rows, 0.0);
  moving.assign(rows, 0.0);
  sweeps = 0;
}

double RowWatch::rate(int row) const {
  const int visits = (sweeps + turns - 1 - row % turns) / turns;
  return std::max(kForget, 1.0 / (1.0 + visits));
}

void Gibbs::begin(State& state) {
  drawn_bases_ = explicit_bases_ && state.measure.bases() > 1;
  if (drawn_bases_) bases_ = state.measure.draw_bases(state.rng, state.partition.sizes(), state.partition.log_q());
  weights_.reset(state.measure, state.partition, drawn_bases_ ? &bases_ : nullptr);
}

double* Gibbs::log_score(State& state, int row) {
  Partition& partition = state.partition;
  Statistics& statistics = partition.statistics();
  const int own = partition.label(row), k = partition.clusters(), t = partition.group(row);
  if (static_cast<int>(log_weight_.size()) < padded(k + 1)) log_weight_.resize(2 * padded(k + 1));
  double* w = log_weight_.data();
  statistics.log_predictive_front(row, k, w);
  weights_.add_to(t, w);
  w[own] = partition.size(own) == 1 ? -kInf : weights_.own(row) + statistics.log_predictive_without(row, own);
  w[k] = state.measure.log_new(t) + partition.likelihood().log_single()[row];
  return w;
}

const double* Gibbs::score(State& state, int row) {
  double* w = log_score(state, row);
  const int k = state.partition.clusters();
  if (inverse_heat_ != 1.0) {
    for (int j = 0; j <= k; ++j) w[j] *= inverse_heat_;
    if (k >= most_clusters_ && state.partition.size(state.partition.label(row)) > 1) w[k] = -kInf;
  }
  total_ = simd().softmax(w, k + 1);
  return w;
}

double Gibbs::log_mass(State& state) {
  const Partition& partition = state.partition;
  const int n = partition.rows(), k = partition.clusters();
  begin(state);
  double total = state.log_joint();
  for (int row = 0; row < n; ++row) {
    double* w = log_score(state, row);
    const int own = partition.label(row), here = partition.size(own) == 1 ? k : own;
    const double stay = w[here], all = simd().softmax(w, k + 1);
    total += w[here] > 0.0 ? std::log(all / w[here]) : log_sum(log_score(state, row), k + 1) - stay;
  }
  return total;
}

// Bisection on a log scale over a sample of rows: the share that moves grows with the heat.
double Gibbs::heat_that_moves(State& state, double share) {
  constexpr int kSample = 200, kSteps = 30;
  constexpr double kHottest = 1e8;
  const Partition& partition = state.partition;
  const int n = partition.rows(), k = partition.clusters(), sample = std::min(n, kSample);
  begin(state);
  std::vector<double> scores;
  std::vector<int> stays;
  scores.reserve(static_cast<std::size_t>(sample) * (k + 1));
  for (int i = 0; i < sample; ++i) {
    const int row = sample == n ? i : state.rng.index(n), own = partition.label(row);
    const double* w = log_score(state, row);
    scores.insert(scores.end(), w, w + k + 1);
    stays.push_back(partition.size(own) == 1 ? k : own);
  }
  auto moving = [&](double heat) {
    double sum = 0.0;
    for (int i = 0; i < sample; ++i) {
      const double* w = scores.data() + static_cast<std::ptrdiff_t>(i) * (k + 1);
      double all = 0.0;
      const double stay = w[stays[i]];
      for (int j = 0; j <= k; ++j) all += std::exp(std::min((w[j] - stay) / heat, 300.0));
      sum += 1.0 - 1.0 / all;
    }
    return sum / sample;
  };
  double low = 0.0, high = std::log(kHottest);
  if (moving(1.0) >= share) return 1.0;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = 0.5 * (low + high);
    (moving(std::exp(middle)) < share ? low : high) = middle;
  }
  return std::exp(high);
}

int Gibbs::draw(State& state, int row) {
  const Partition& partition = state.partition;
  const int own = partition.label(row), k = partition.clusters(), t = partition.group(row);
  const bool alone = partition.size(own) == 1;
  const double* w = score(state, row);
  if (watch_) {
    const double rate = watch_->rate(row);
    watch_->opening[row] += rate * (w[k] / total_ - watch_->opening[row]);
    watch_->moving[row] += rate * (1.0 - w[alone ? k : own] / total_ - watch_->moving[row]);
  }
  const int chosen = draw_index(state.rng, w, k + 1, total_);
  if (chosen == k && alone) {  // it stays alone, perhaps from another basis measure
    if (drawn_bases_) {
      bases_[own] = draw_basis(state, t);
      weights_.follow({own, own, false});
    }
    return own;
  }
  if (drawn_bases_ && chosen == k) bases_.push_back(draw_basis(state, t));
  return chosen;
}

Partition::Moved Gibbs::move(State& state, int row, int chosen) {
  moved_ += 1.0;
  const Partition::Moved moved = state.partition.move(row, chosen);
  if (drawn_bases_ && moved.vanished) {
    bases_[moved.from] = bases_.back();
    bases_.pop_back();
  }
  weights_.follow(moved);
  return moved;
}

void Gibbs::sweep(State& state, std::span<const int> rows) {
  begin(state);
  for (int row : rows) {
    const int chosen = draw(state, row);
    if (chosen != state.partition.label(row)) move(state, row, chosen);
  }
  if (watch_) ++watch_->sweeps;
}

// The basis measure of a new cluster opened by a point of group t.
int Gibbs::draw_basis(State& state, int t) const { return state.measure.draw_basis(state.rng, 1, state.measure.lq_row(t)); }

void Gibbs::step(State& state) {
  moved_ = 0.0;
  const int n = state.partition.rows();
  if (static_cast<int>(order_.size()) != n) {
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0);
    // Rows of a group one after another: they share what their group says of the clusters.
    if (state.measure.groups() > kFewGroups)
      std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return state.partition.group(a) < state.partition.group(b); });
  }
  if (subset_ <= 0 || subset_ >= n) return sweep(state, order_);
  std::iota(order_.begin(), order_.end(), 0);  // the subset depends on the random numbers alone, not on history
  for (int i = 0; i < subset_; ++i) std::swap(order_[i], order_[i + state.rng.index(n - i)]);
  sweep(state, std::span(order_).first(subset_));
}

void allocate_sequentially(State& state, const std::vector<int>& labels) {
  Partition& partition = state.partition;
  std::vector<int> order;
  for (int row = 0; row < static_cast<int>(labels.size()); ++row)
    if (labels[row] < 0) order.push_back(row);
  const int n = static_cast<int>(order.size());
  for (int i = 0; i < n; ++i) std::swap(order[i], order[i + state.rng.index(n - i)]);
  partition.assign(labels);
  JoinWeights weights;
  weights.reset(state.measure, partition);
  AlignedVector<double> w;
  for (int row : order) {
    const int k = partition.clusters(), t = partition.group(row);
    w.resize(padded(k + 1));
    partition.statistics().log_predictive_front(row, k, w.data());
    weights.add_to(t, w.data());
    w[k] = state.measure.log_new(t) + partition.likelihood().log_single()[row];
    const double total = simd().softmax(w.data(), k + 1);
    const int to = draw_index(state.rng, w.data(), k + 1, total);
    partition.insert(row, to);
    weights.follow({to, to, false});
  }
}

}  // namespace hedgerow
