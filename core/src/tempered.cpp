// Rungs that move, trade and are carried on.
#include "hedgerow/kernels/tempered.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr double kTrades = 0.6;  // share of the warm-up from which places are traded: before it kernels may be heated

// Σ_c log p(X_c) of a partition under the likelihood of another one.
double log_likelihood_at(State& where, State& of) {
  Statistics& statistics = where.partition.statistics();
  const int slot = where.partition.scratch(0);
  double total = 0.0;
  for (int c = 0; c < of.partition.clusters(); ++c) {
    statistics.load(slot, of.partition.statistics(), c);
    total += statistics.log_marginal(slot);
  }
  return total;
}

void put(Carried& out, const MeasureState& measure) {
  MeasureState::each(measure, [&](const char*, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      out.real.push_back(value);
    else
      out.real.insert(out.real.end(), value.begin(), value.end());
  });
}

void take(CarriedReader& in, Measure& measure) {
  MeasureState values = measure.state();
  MeasureState::each(values, [&](const char*, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      value = in.reals(1)[0];
    else
      value = in.reals(value.size());
  });
  if (!measure.possible(values)) throw std::invalid_argument("a kernel's memory has hyper-parameters out of their ranges");
  measure.set(std::move(values));
}
}  // namespace

Tempered::Tempered(std::unique_ptr<Kernel> kernel, std::vector<std::unique_ptr<Rung>> rungs)
    : kernel_(std::move(kernel)), rungs_(std::move(rungs)), traded_(rungs_.size(), 0.0) {}

// Every rung sets out from where the chain is.
void Tempered::begin(const State& state) {
  walker_.resize(rungs_.size() + 1);
  std::iota(walker_.begin(), walker_.end(), 0);
  been_down_.assign(walker_.size(), 0);
  been_down_.back() = 1;
  for (auto& rung : rungs_) {
    rung->state.measure.set(state.measure.state());
    rung->state.partition.assign(state.partition.labels());
  }
}

template <class Work>
void Tempered::each(State& state, const Work& work) {
  if (!begun()) begin(state);
  for (auto& rung : rungs_) {
    rung->state.rng = state.rng;
    rung->state.partition.rebuild();
    work(*rung);
    state.rng = rung->state.rng;
  }
}

void Tempered::adapt(State& state, double progress, int length) {
  each(state, [&](Rung& rung) { rung.kernel->adapt(rung.state, progress, length); });
  kernel_->adapt(state, progress, length);
  trading_ = progress >= kTrades;
}

void Tempered::end_warm_up(State& state) {
  each(state, [](Rung& rung) { rung.kernel->end_warm_up(rung.state); });
  kernel_->end_warm_up(state);
  trading_ = true;
}

void Tempered::step(State& state) {
  each(state, [&](Rung& rung) {
    State& own = rung.state;
    own.update_u = state.update_u;
    own.update_hyper = state.update_hyper;
    rung.kernel->step(own);
    own.update_measure();
  });
  kernel_->step(state);
  std::fill(traded_.begin(), traded_.end(), 0.0);
  trips_ = 0.0;
  if (!trading_) return;
  for (const std::size_t first : {0, 1})
    for (std::size_t upper = first; upper < rungs_.size(); upper += 2) trade(state, upper);
}

void Tempered::trade(State& state, std::size_t upper) {
  State &high = at(state, upper), &low = at(state, upper + 1);
  const double gained = log_likelihood_at(high, low) + log_likelihood_at(low, high);
  const double log_r = gained - high.partition.log_likelihood() - low.partition.log_likelihood();
  if (std::log(state.rng.uniform_open()) >= log_r) return;
  traded_[upper] = 1.0;
  MeasureState measure = high.measure.state();
  high.measure.set(low.measure.state());
  low.measure.set(std::move(measure));
  const std::vector<int> labels = high.partition.labels();
  high.partition.assign(low.partition.labels());
  low.partition.assign(labels);
  std::swap(walker_[upper], walker_[upper + 1]);
  been_down_[walker_.back()] = 1;
  trips_ += std::exchange(been_down_[walker_.front()], 0);
}

std::vector<std::string> Tempered::stat_names() const {
  std::vector<std::string> names = kernel_->stat_names();
  for (std::size_t k = 1; k <= rungs_.size(); ++k) names.push_back("trade_" + std::to_string(k));
  names.emplace_back("trips");
  return names;
}

void Tempered::stats(double* out) const {
  kernel_->stats(out);
  out = std::copy(traded_.begin(), traded_.end(), out + kernel_->stat_names().size());
  *out = trips_;
}

void Tempered::save(Carried& out) const {
  out.counters.push_back(begun() ? 1 + trading_ : 0);
  kernel_->save(out);
  if (!begun()) return;
  for (const std::vector<int>* numbers : {&walker_, &been_down_})
    out.counters.insert(out.counters.end(), numbers->begin(), numbers->end());
  for (const auto& rung : rungs_) {
    const std::vector<int>& labels = rung->state.partition.labels();
    out.whole.insert(out.whole.end(), labels.begin(), labels.end());
    put(out, rung->state.measure.state());
    rung->kernel->save(out);
  }
}

void Tempered::load(State& state, CarriedReader& in) {
  const int stage = in.counter();
  if (stage < (in.warming() ? 0 : 2) || stage > 2)
    throw std::invalid_argument("a kernel's memory has rungs in a stage that does not exist");
  kernel_->load(state, in);
  walker_.clear();
  trading_ = stage == 2;
  if (stage == 0) return;
  const std::size_t count = rungs_.size() + 1;
  std::vector<int> seen(count, 0);
  for (std::size_t k = 0; k < count; ++k) {
    walker_.push_back(in.counter());
    if (walker_[k] < 0 || walker_[k] >= static_cast<int>(count) || seen[walker_[k]]++)
      throw std::invalid_argument("a kernel's memory has walkers that do not exist");
  }
  been_down_.assign(count, 0);
  for (int& down : been_down_) {
    down = in.counter();
    if (down != 0 && down != 1) throw std::invalid_argument("a kernel's memory has walkers that were nowhere");
  }
  for (auto& rung : rungs_) {
    rung->state.partition.assign(in.labels(state.partition.rows()));
    take(in, rung->state.measure);
    rung->kernel->load(rung->state, in);
  }
}

}  // namespace hedgerow
