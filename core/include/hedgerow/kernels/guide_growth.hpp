// The guides of a chain: given, or grown from the rows during the warm-up.
#pragma once

#include "hedgerow/kernels/guided_split.hpp"

namespace hedgerow {

// A guide from the data: one pass of incremental clustering over the rows in random order, the roots then joined greedily past
// d = 1. It looks at the measure of the state, never at its partition; the first one at a measure that suits one cluster, where
// hyper-parameters are still to be drawn.
// `roots`, if asked for: the partition that the pass ended with.
std::shared_ptr<const WeightedGuide> grow_guide(State& state, bool first, std::vector<int>* roots = nullptr);

class GuideGrowth {
 public:
  // Given guides stay as they are; where there are none, `wanted` are grown.
  GuideGrowth(Guides given, int wanted);
  const Guides& guides() const { return guides_; }

  // Grows guides at the start of a warm-up and anew at a few points of it, since they depend on hyper-parameters that are still on
  // their way. The state takes the partition of the first passes where that is better.
  void follow(State& state, double progress);
  void end(State& state);  // grows what no warm-up has

  void save(Carried& out) const;
  void load(State& state, CarriedReader& in, bool ended);

 private:
  void grow(State& state, int count, bool offer);

  Guides guides_;
  int wanted_, growths_ = 0;
};

}  // namespace hedgerow
