// The guides of a chain: given, or grown from the rows during the warm-up.
#pragma once

#include "hedgerow/grown_guide.hpp"
#include "hedgerow/kernels/guided_split.hpp"

namespace hedgerow {

// Which guides are grown for a chain: so many of those of its run's seed, the first of them its own. Chains that follow one another have
// theirs in common, in sets of that many.
struct GuideSource {
  int wanted = 0;
  std::uint64_t seed = 0, sequence = 0;
};

class GuideGrowth {
 public:
  // Given guides stay as they are; where there are none, they are grown.
  GuideGrowth(Guides given, GuideSource source);
  const Guides& guides() const { return guides_; }

  // Grows a guide at the start of a warm-up, to climb with, and the others halfway. The state takes the partition of the first pass where
  // that is better.
  void follow(State& state, double progress);
  void end(State& state);  // grows what no warm-up has

  void save(Carried& out) const;
  void load(State& state, CarriedReader& in, bool ended);

 private:
  void grow(State& state, int count);
  std::shared_ptr<const GrownGuide> take(State& state, int which);

  Guides guides_;
  GuideSource source_;
  int growths_ = 0;
  bool whole_ = false;  // a state holds them: rows have entries that are filled in, and they belong to the fillings of one moment
};

}  // namespace hedgerow
