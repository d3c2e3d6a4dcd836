// The stages of an annealed warm-up.
#include "hedgerow/kernels/annealed.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
// Shares of the warm-up at which the stages begin, and at which heat has fallen to 1.
constexpr double kBegins[] = {0.0, 0.0, 0.1, 0.12, 0.14, 0.45, 0.47, 0.5, 0.6};
constexpr double kCooled = 0.42;
constexpr int kLeast = 100;                                     // iterations of a warm-up that is heated
constexpr double kCold = 0.1, kColdest = 0.01, kCooling = 0.8;  // from, to, and the share of a stage it takes
constexpr double kStirred = 0.4;                                // of the rows move in the first heated sweep
constexpr int kDraws = 20;                                      // of hyper-parameters, to suit another partition
}  // namespace

void Annealed::step(State& state) {
  if (heat_ == 1.0) return kernel_->step(state);
  gibbs_.set_heat(heat_, most_clusters(state.partition.rows()));
  gibbs_.step(state);
}

void Annealed::adapt(State& state, double progress, int length) {
  kernel_->adapt(state, progress, length);
  if (length < kLeast) return;
  while (stage_ < over && progress >= kBegins[stage_ + 1]) enter(state, static_cast<Stage>(stage_ + 1), progress < kCooled);
  heat_ = 1.0;
  if (stage_ == heated) heat_ = std::max(1.0, hottest_ * (kCooled - progress) / (kCooled - kBegins[heated]));
  if (stage_ == top_of_best) heat_ = kColdest;
  if (looks_for_top(stage_)) {
    const double passed = (progress - kBegins[stage_]) / (kBegins[stage_ + 1] - kBegins[stage_]);
    heat_ = std::max(kColdest, kCold * (1.0 - passed / kCooling));
  }
}

// What is still hot is dropped: log joints tell it from what has cooled, by hundreds of nats. Then masses are compared, as they would
// have been at the end of the last stage.
void Annealed::end_warm_up(State& state) {
  if (stage_ > climbing && stage_ <= heated) take_higher(state, kept_);
  if (stage_ == top_of_heated || stage_ == top_of_best) take_higher(state, found_);
  if (stage_ > heated && stage_ < over) keep_heavier(state, kept_);
  for (std::vector<int>* labels : {&start_, &kept_, &found_, &top_}) labels->clear();
  stage_ = over;
  heat_ = 1.0;
  kernel_->end_warm_up(state);
}

void Annealed::enter(State& state, Stage stage, bool hot) {
  if (looks_for_top(stage_)) see_top(state);
  stage_ = stage;
  switch (stage) {
    case unseen:
      break;
    case climbing:
      start_ = state.partition.labels();
      break;
    case top_of_start:
      kept_ = state.partition.labels();
      state.partition.assign(std::exchange(start_, {}));
      break;
    case top_of_climbed:
      state.partition.assign(kept_);
      break;
    case heated:
      state.partition.assign(kept_);
      hottest_ = hot ? gibbs_.heat_that_moves(state, kStirred) : 1.0;
      break;
    case top_of_heated:
      found_ = state.partition.labels();
      break;
    case top_of_best:
      state.partition.assign(std::exchange(top_, {}));
      break;
    case relaxing:
      state.partition.assign(std::exchange(found_, {}));
      break;
    case over:
      keep_heavier(state, std::exchange(kept_, {}));
      break;
  }
}

// Both tops at the same hyper-parameters: as these change from one to the next, so do log joints.
void Annealed::see_top(State& state) {
  std::vector<int> found = state.partition.labels();
  const double height = state.log_joint();
  if (!top_.empty()) {
    state.partition.assign(top_);
    if (height <= state.log_joint()) return;
  }
  top_ = std::move(found);
}

// At the hyper-parameters that suit either of the two: they differ, and each suits its own better.
void Annealed::keep_heavier(State& state, const std::vector<int>& kept) {
  const std::vector<int> found = state.partition.labels();
  const Measure drawn = state.measure;
  auto heavier = [&] {
    state.partition.assign(found);
    const double mass = gibbs_.log_mass(state);
    state.partition.assign(kept);
    return mass - gibbs_.log_mass(state);
  };
  double by = heavier();
  for (int i = 0; i < kDraws; ++i) {
    state.measure.update_u(state.rng, state.partition.sizes(), state.partition.log_q());
    state.measure.update_hyper(state.rng, state.partition.sizes(), state.partition.log_q(), true);
  }
  by += heavier();
  state.measure = drawn;
  if (by > 0.0) state.partition.assign(found);
}

int Annealed::most_clusters(int rows) const {
  return kept_.empty() ? rows : 20 + 3 * (1 + *std::max_element(kept_.begin(), kept_.end())) / 2;
}

void Annealed::save(Carried& out) const {
  kernel_->save(out);
  out.real.push_back(hottest_);
  out.whole.push_back(stage_);
  for (const std::vector<int>* labels : {&start_, &kept_, &found_, &top_}) {
    out.whole.push_back(labels->empty() ? 0 : 1);
    out.whole.insert(out.whole.end(), labels->begin(), labels->end());
  }
}

void Annealed::load(State& state, CarriedReader& reader) {
  kernel_->load(state, reader);
  const Carried aside = reader.take_aside();
  CarriedReader before(aside, reader.warming(), false);
  CarriedReader& in = reader.first_layout() ? before : reader;
  hottest_ = in.reals(1)[0];
  if (!(hottest_ >= 1.0 && hottest_ < kInf)) throw std::invalid_argument("a kernel's memory has a temperature that it cannot have");
  const int stage = in.whole();
  if (stage < unseen || stage > over) throw std::invalid_argument("a kernel's memory has a stage of annealing that does not exist");
  stage_ = static_cast<Stage>(stage);
  for (std::vector<int>* labels : {&start_, &kept_, &found_, &top_}) {
    const int there = in.whole();
    *labels = in.labels(there == 1 ? state.partition.rows() : 0);
  }
  const bool kept = stage_ > climbing && stage_ < over, found = stage_ == top_of_heated || stage_ == top_of_best;
  const bool top = stage_ > top_of_start && stage_ < top_of_best;
  const bool all = start_.empty() == (stage_ != climbing) && kept_.empty() != kept && found_.empty() != found && top_.empty() != top;
  if (!all) throw std::invalid_argument("a kernel's memory has partitions that do not belong to its stage of annealing");
}

}  // namespace hedgerow
