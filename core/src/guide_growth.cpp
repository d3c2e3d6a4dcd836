// Guides by incremental clustering, when they are grown, and how they are carried on.
#include "hedgerow/kernels/guide_growth.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "hedgerow/bhc.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/ibhc.hpp"

namespace hedgerow {
namespace {
constexpr double kAgain[] = {0.0, 0.5};  // shares of the warm-up at which guides are grown
constexpr int kTimes = 2, kOnce = 3;     // now, and in files of earlier versions
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

GuideGrowth::GuideGrowth(Guides given, int wanted) : guides_(std::move(given)), wanted_(guides_.empty() ? wanted : 0) {}

void GuideGrowth::grow(State& state, int count, bool offer) {
  for (int g = 0; g < count; ++g) {
    std::vector<int> roots;
    guides_.push_back(grow_guide(state, growths_ <= 1, offer && growths_ <= 1 ? &roots : nullptr));
    if (!roots.empty()) take_higher(state, roots);
  }
}

// One guide is enough to climb with; all of them are grown once the hyper-parameters, if any are drawn, have had time.
void GuideGrowth::follow(State& state, double progress) {
  if (wanted_ == 0 || growths_ >= kTimes || progress < kAgain[growths_]) return;
  ++growths_;
  const int now = growths_ == 1 ? 1 : wanted_;
  grow(state, now - static_cast<int>(guides_.size()), true);
}

void GuideGrowth::end(State& state) {
  if (guides_.empty() && state.partition.rows() > 1) grow(state, wanted_, false);
}

void GuideGrowth::save(Carried& out) const {
  if (wanted_ == 0) return;
  out.whole.insert(out.whole.end(), {growths_, static_cast<int>(guides_.size())});
  for (const auto& guide : guides_) {
    const std::ptrdiff_t n = guide->tree.rows();
    for (const std::vector<int>* side : {&guide->tree.left, &guide->tree.right})
      out.whole.insert(out.whole.end(), side->begin() + n, side->end());
    out.real.insert(out.real.end(), guide->split_probability.begin() + n, guide->split_probability.end());
  }
}

void GuideGrowth::load(State& state, CarriedReader& in, bool ended) {
  if (wanted_ == 0) return;
  const std::size_t n = static_cast<std::size_t>(state.partition.rows());
  growths_ = in.whole();
  const int count = in.whole();
  const bool none = count == 0 && (growths_ > 0 || (ended && n > 1));
  if (growths_ < 0 || growths_ > kOnce || count < 0 || count > wanted_ || none)
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

}  // namespace hedgerow
