// The course of TreeGuided: guides grown, the warm-up's climb, what an iteration does, and what is carried to the next.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "hedgerow/bhc.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/ibhc.hpp"
#include "hedgerow/kernels/tree_guided.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr int kMoves = 20, kClimbing = 100;  // at most, of draws and of the warm-up
constexpr double kDoubt = 0.95;              // of all expected moves of a sweep fall to the doubtful rows
constexpr int kTurns = 4;                    // steady rows are visited in one sweep of so many
constexpr double kRenewal = 10.0;            // moves for each cluster of one row that is to be renewed
constexpr double kSingles = 0.1;             // of the rows visited, at most so many such moves
}  // namespace

// Hyper-parameters that have not been drawn yet may keep thousands of rows alone, and joining those takes forever: the first
// guide is grown with such as suit one cluster.
std::shared_ptr<const WeightedGuide> grow_guide(State& state, bool first, std::vector<int>* roots) {
  const int n = state.partition.rows();
  std::vector<int> order(n), groups;
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < n; ++i) std::swap(order[i], order[i + state.rng.index(n - i)]);
  if (state.measure.groups() > 1)
    for (int i = 0; i < n; ++i) groups.push_back(state.partition.group(i));
  Measure measure = state.measure;
  if (first && measure.has_laws()) {
    std::vector<double> log_q(measure.trivial_q() ? 0 : measure.bases(), 0.0);
    for (int i = 0; i < n; ++i)
      for (std::size_t r = 0; r < log_q.size(); ++r) log_q[r] += measure.lq(state.partition.group(i), static_cast<int>(r));
    resample_typically(measure, state.rng, {n}, log_q, true, 15);
  }
  Forest forest(state.partition.likelihood(), measure, std::move(groups));
  Inserter inserter(forest, {});
  for (int row : order) inserter.insert(~row);
  bhc(forest, false);
  if (roots) forest.labels(*roots);
  bhc(forest, true);
  std::vector<int> identity(n);
  std::iota(identity.begin(), identity.end(), 0);
  const ForestArrays arrays = forest.arrays(identity, n);
  auto guide = std::make_shared<WeightedGuide>();
  guide->tree =
      Guide(std::vector<int>(arrays.left.begin(), arrays.left.end()), std::vector<int>(arrays.right.begin(), arrays.right.end()));
  guide->split_probability.resize(arrays.log_d.size(), 0.0);
  for (std::size_t v = n; v < arrays.log_d.size(); ++v) guide->split_probability[v] = 1.0 / (1.0 + std::exp(-arrays.log_d[v]));
  return guide;
}

TreeGuided::TreeGuided(Guides given, int grown, int global_moves, int single_moves, bool anneal, double sweep_rate)
    : guides_(std::move(given)),
      grown_(guides_.empty() ? grown : 0),
      global_moves_(global_moves),
      single_moves_(single_moves),
      anneal_(anneal && sweep_rate > 0.0),
      sweep_rate_(sweep_rate) {}

// `offer`: the partition of the first pass is taken where it is better than the state's.
void TreeGuided::grow(State& state, int count, bool offer) {
  for (int g = 0; g < count; ++g) {
    std::vector<int> roots;
    guides_.push_back(grow_guide(state, growths_ <= 1, offer && growths_ <= 1 ? &roots : nullptr));
    if (!roots.empty()) take_higher(state, roots);
  }
}

// One guide is enough to climb with; all of them are grown once the hyper-parameters, if any are drawn, have had time to settle.
void TreeGuided::adapt(State& state, double progress) {
  constexpr double kAgain[] = {0.0, 0.1, 0.5};  // shares of the warm-up
  constexpr int kTimes = 3;
  if (grown_ > 0 && growths_ < kTimes && progress >= kAgain[growths_]) {
    ++growths_;
    if (state.measure.has_laws()) guides_.clear();
    const int wanted = growths_ == 1 || (growths_ < kTimes && !state.measure.has_laws()) ? 1 : grown_;
    grow(state, wanted - static_cast<int>(guides_.size()), true);
  }
  if (anneal_) annealing_.follow(state, gibbs_, progress);
}

// So many global moves that they cost this share of a sweep over `visited` rows, in evaluations (one of a block against two
// halves costs about ten of a row against all clusters at once).
int TreeGuided::tuned_moves(const State& state, double visited, double share, double least, double most) {
  const double n = state.partition.rows(), k = state.partition.clusters();
  return static_cast<int>(std::clamp(share * visited * (k + 8.0) / (30.0 * n / k + 18.0 * k), least, most));
}

// Where Gibbs mixes by itself every further move costs effective draws, where it does not they cost next to nothing: a sixth of
// a sweep. On small sets an iteration costs microseconds and there are at least a few, since chains are judged by the draw.
void TreeGuided::end_warm_up(State& state) {
  if (drawing_) return;
  const int n = state.partition.rows();
  if (guides_.empty() && n > 1) grow(state, grown_, false);
  annealing_.end(state, gibbs_);
  sort_rows(n);
  const double visited = static_cast<double>(doubtful_.size()) + static_cast<double>(steady_.size()) / kTurns;
  moves_ = global_moves_ != kTuned ? global_moves_ : tuned_moves(state, visited, 0.15, std::clamp(3000.0 / n, 2.0, 10.0), kMoves);
  singles_each_ =
      single_moves_ != kTuned ? single_moves_ : static_cast<int>(std::min(kRenewal * (1.0 + singles_.total()), kSingles * visited));
  drawing_ = true;
}

// Without a warm-up every row is as doubtful as any other.
void TreeGuided::sort_rows(int n) {
  singles_.set_weights(watch_.empty() ? std::vector<double>(n, 1.0 / n) : watch_.opening);
  doubtful_.clear();
  steady_.clear();
  double least = 0.0;
  if (!watch_.empty()) {
    std::vector<double> moving = watch_.moving;
    std::sort(moving.begin(), moving.end());
    double rest = (1.0 - kDoubt) * std::accumulate(moving.begin(), moving.end(), 0.0);
    for (double chance : moving) {
      least = chance;
      if ((rest -= chance) < 0.0) break;
    }
  }
  for (int i = 0; i < n; ++i) (watch_.empty() || watch_.moving[i] >= least ? doubtful_ : steady_).push_back(i);
}

// The lists depend on the warm-up alone and their turns on nothing: a fixed cycle of Gibbs updates.
void TreeGuided::sweep(State& state) {
  if (!drawing_) return gibbs_.step(state);
  const int count = static_cast<int>(steady_.size());
  const int begin = static_cast<int>(static_cast<std::int64_t>(count) * next_steady_ / kTurns);
  next_steady_ = (next_steady_ + 1) % kTurns;
  const int end = next_steady_ == 0 ? count : static_cast<int>(static_cast<std::int64_t>(count) * next_steady_ / kTurns);
  gibbs_.sweep(state, steady_.data() + begin, end - begin);
  gibbs_.sweep(state, doubtful_.data(), static_cast<int>(doubtful_.size()));
}

void TreeGuided::save(Carried& out) const {
  out.whole.insert(out.whole.end(), {drawing_, moves_, singles_each_, next_steady_, watch_.sweeps, !watch_.empty()});
  annealing_.save(out);
  out.real.insert(out.real.end(), watch_.opening.begin(), watch_.opening.end());
  out.real.insert(out.real.end(), watch_.moving.begin(), watch_.moving.end());
  if (grown_ == 0) return;
  out.whole.insert(out.whole.end(), {growths_, static_cast<int>(guides_.size())});
  for (const auto& guide : guides_) {
    const std::ptrdiff_t n = guide->tree.rows();
    for (const std::vector<int>* side : {&guide->tree.left, &guide->tree.right})
      out.whole.insert(out.whole.end(), side->begin() + n, side->end());
    out.real.insert(out.real.end(), guide->split_probability.begin() + n, guide->split_probability.end());
  }
}

void TreeGuided::load(State& state, CarriedReader& in) {
  const std::size_t n = static_cast<std::size_t>(state.partition.rows());
  drawing_ = in.whole() != 0;
  if (!drawing_ && !in.warming()) throw std::invalid_argument("a kernel's memory is of a warm-up that is over");
  moves_ = in.whole();
  singles_each_ = in.whole();
  next_steady_ = in.whole();
  const bool few = moves_ <= std::max(global_moves_, kMoves) && singles_each_ <= std::max(single_moves_, static_cast<int>(n));
  if (moves_ < 0 || singles_each_ < 0 || !few)
    throw std::invalid_argument("a kernel's memory has a number of moves that it cannot have");
  if (next_steady_ < 0 || next_steady_ >= kTurns) throw std::invalid_argument("a kernel's memory has a turn that does not exist");
  watch_ = {};
  watch_.sweeps = in.whole();
  const bool watched = in.whole() != 0;
  annealing_.load(in, static_cast<int>(n));
  if (watched) {
    watch_.opening = in.reals(n);
    watch_.moving = in.reals(n);
    for (const std::vector<double>* chances : {&watch_.opening, &watch_.moving})
      for (double p : *chances)
        if (!(p >= -1e-9 && p <= 1.0 + 1e-9)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
  }
  if (watch_.sweeps < 0) throw std::invalid_argument("a kernel's memory has seen a negative number of sweeps");
  if (drawing_) sort_rows(static_cast<int>(n));
  if (grown_ == 0) return;
  growths_ = in.whole();
  const int count = in.whole();
  const bool none = count == 0 && (growths_ > 0 || (drawing_ && n > 1));
  if (growths_ < 0 || count < 0 || count > grown_ || none)
    throw std::invalid_argument("a kernel's memory has guides it cannot have grown");
  guides_.clear();
  for (int g = 0; g < count; ++g) {
    std::vector<int> sides[2];
    for (std::vector<int>& side : sides) {
      side.assign(n, -1);
      const std::vector<int> inner = in.wholes(n - 1);
      side.insert(side.end(), inner.begin(), inner.end());
    }
    auto guide = std::make_shared<WeightedGuide>();
    guide->tree = Guide(std::move(sides[0]), std::move(sides[1]));
    guide->split_probability.assign(n, 0.0);
    for (double p : in.reals(n - 1)) {
      if (!(p >= 0.0 && p <= 1.0)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
      guide->split_probability.push_back(p);
    }
    guides_.push_back(std::move(guide));
  }
}

std::vector<std::string> TreeGuided::stat_names() const {
  return {"splits", "splits_accepted", "merges", "merges_accepted", "log_r", "births", "deaths", "moved"};
}

void TreeGuided::stats(double* out) const {
  out[0] = splits_;
  out[1] = split_accepts_;
  out[2] = merges_;
  out[3] = merge_accepts_;
  out[4] = log_r_count_ > 0 ? log_r_sum_ / log_r_count_ : std::nan("");
  out[5] = singles_.births;
  out[6] = singles_.deaths;
  gibbs_.stats(out + 7);
}

void TreeGuided::step(State& state) {
  splits_ = split_accepts_ = merges_ = merge_accepts_ = log_r_count_ = 0;
  log_r_sum_ = 0.0;
  sides_.attach(state);
  const int n = state.partition.rows();
  const bool exact = annealing_.heat() == 1.0;
  const int moves = !exact                    ? 0
                    : drawing_                ? moves_
                    : global_moves_ != kTuned ? global_moves_
                                              : tuned_moves(state, n, 0.5, kMoves, kClimbing);
  if (n > 1)
    for (int g = 0; g < moves; ++g) global_move(state);
  gibbs_.rest();
  singles_.births = singles_.deaths = 0;
  if (!drawing_ && static_cast<int>(watch_.opening.size()) != n) watch_.start(n);
  gibbs_.watch(!drawing_ && exact ? &watch_ : nullptr);
  gibbs_.set_heat(annealing_.heat(), annealing_.most_clusters(n));
  if (drawing_ && n > 1) singles_.step(state, gibbs_, singles_each_);
  if (!exact || sweep_rate_ >= 1.0 || state.rng.uniform() < sweep_rate_) sweep(state);
}

}  // namespace hedgerow
