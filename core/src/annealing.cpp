#include "hedgerow/kernels/annealing.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
// Shares of the warm-up at which the stages begin, and at which heat has fallen to 1.
constexpr double kBegins[] = {0.0, 0.0, 0.1, 0.12, 0.14, 0.45, 0.47, 0.5};
constexpr double kCooled = 0.42;
constexpr double kCold = 0.1, kColdest = 0.01, kCooling = 0.8;  // from, to, and the share of a stage it takes
constexpr double kStirred = 0.4;                                // of the rows move in the first heated sweep

// Labels are 0..K-1, each used.
void check_labels(const std::vector<int>& labels) {
  std::vector<char> used(labels.size(), 0);
  for (int c : labels) {
    if (c < 0 || c >= static_cast<int>(labels.size())) throw std::invalid_argument("a kernel's memory has labels out of range");
    used[c] = 1;
  }
  if (!std::is_sorted(used.begin(), used.end(), std::greater<>())) throw std::invalid_argument("a kernel's memory has labels that skip a number");
}
}  // namespace

void Annealing::follow(State& state, Gibbs& gibbs, double progress) {
  while (stage_ < over && progress >= kBegins[stage_ + 1]) {
    enter(state, static_cast<Stage>(stage_ + 1));
    if (stage_ == heated) hottest_ = progress < kCooled ? gibbs.heat_that_moves(state, kStirred) : 1.0;
  }
  heat_ = 1.0;
  if (stage_ == heated) heat_ = std::max(1.0, hottest_ * (kCooled - progress) / (kCooled - kBegins[heated]));
  if (stage_ == top_of_best) heat_ = kColdest;
  if (looks_for_top(stage_)) {
    const double passed = (progress - kBegins[stage_]) / (kBegins[stage_ + 1] - kBegins[stage_]);
    heat_ = std::max(kColdest, kCold * (1.0 - passed / kCooling));
  }
}

void Annealing::end(State& state) {
  while (stage_ != unseen && stage_ != over) enter(state, static_cast<Stage>(stage_ + 1));
  heat_ = 1.0;
}

void Annealing::enter(State& state, Stage stage) {
  if (looks_for_top(stage_)) end_trial(state);
  stage_ = stage;
  switch (stage) {
    case unseen:
      break;
    case climbing:
      waiting_ = state.partition.labels();
      break;
    case top_of_start:
      begin_trial(state, std::exchange(waiting_, state.partition.labels()));
      break;
    case top_of_climbed:
      begin_trial(state, std::exchange(waiting_, {}));
      break;
    case heated:
    case over:
      state.partition.assign(best_);
      break;
    case top_of_heated:
      tried_ = state.partition.labels();
      break;
    case top_of_best:
      state.partition.assign(top_);
      break;
  }
  if (stage == over) best_.clear(), top_.clear();
}

void Annealing::begin_trial(State& state, std::vector<int> labels) {
  tried_ = std::move(labels);
  state.partition.assign(tried_);
}

// Both tops at the same hyper-parameters: as these change from one trial to the next, so do log joints.
void Annealing::end_trial(State& state) {
  std::vector<int> found = state.partition.labels();
  bool better = top_.empty();
  if (!better) {
    const double height = state.log_joint();
    state.partition.assign(top_);
    better = height > state.log_joint();
  }
  if (better) {
    best_ = std::move(tried_);
    top_ = std::move(found);
  }
  tried_.clear();
}

int Annealing::most_clusters(int rows) const {
  const std::vector<int>& from = best_.empty() ? tried_ : best_;
  return from.empty() ? rows : 20 + 3 * (1 + *std::max_element(from.begin(), from.end())) / 2;
}

void Annealing::save(Carried& out) const {
  out.real.push_back(hottest_);
  out.whole.push_back(stage_);
  for (const std::vector<int>* labels : {&waiting_, &tried_, &best_, &top_}) {
    out.whole.push_back(labels->empty() ? 0 : 1);
    out.whole.insert(out.whole.end(), labels->begin(), labels->end());
  }
}

void Annealing::load(CarriedReader& in, int rows) {
  hottest_ = in.reals(1)[0];
  if (!(hottest_ >= 1.0 && hottest_ < kInf)) throw std::invalid_argument("a kernel's memory has a temperature that it cannot have");
  const int stage = in.whole();
  if (stage < unseen || stage > over) throw std::invalid_argument("a kernel's memory has a stage of annealing that does not exist");
  stage_ = static_cast<Stage>(stage);
  for (std::vector<int>* labels : {&waiting_, &tried_, &best_, &top_}) {
    const int there = in.whole();
    *labels = in.wholes(there == 1 ? static_cast<std::size_t>(rows) : 0);
    check_labels(*labels);
  }
  const bool waits = stage_ == climbing || stage_ == top_of_start, best = stage_ > top_of_start && stage_ != over;
  const bool all = waiting_.empty() != waits && tried_.empty() != looks_for_top(stage_) && best_.empty() != best && top_.empty() != best;
  if (!all) throw std::invalid_argument("a kernel's memory has partitions that do not belong to its stage of annealing");
}

}  // namespace hedgerow
