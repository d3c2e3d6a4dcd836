// Guides grown from rows: one pass of incremental clustering over them in random order, its roots joined greedily past d = 1.
//
// Which guide a chain gets is decided by the rows, the prior and a seed, never by its partition or its hyper-parameters: so the chains of a
// run can have guides in common, and a state need not hold them.
//
// Growth takes little memory: of a subtree that is certainly one cluster only the shape is kept once there are many nodes, and it goes on
// as a single leaf.
#pragma once

#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "hedgerow/kernels/guided_split.hpp"

namespace hedgerow {

struct GrownGuide {
  WeightedGuide guide;
  std::vector<int> ends;  // the clusters that the pass ended with: neighbours in the order of the guide, up to these ranks
  std::vector<int> labels() const;
};

// At hyper-parameters that suit one cluster: such as the prior begins with may keep thousands of rows alone.
GrownGuide grow_guide(const Likelihood& likelihood, const Prior& prior, const std::vector<int>& groups, std::uint64_t seed,
                      std::uint64_t number);

// The guides of a likelihood's rows that were grown last; whoever asks for one that is being grown waits for it.
class GuideShelf {
 public:
  using Grown = std::shared_ptr<const GrownGuide>;
  Grown get(const Likelihood& likelihood, const Prior& prior, const std::vector<int>& groups, std::uint64_t seed, std::uint64_t number);

 private:
  struct Entry {
    std::uint64_t seed, number, rest;  // of what else decides it, a hash
    std::shared_future<Grown> guide;
  };
  std::mutex lock_;
  std::list<Entry> entries_;
};

}  // namespace hedgerow
