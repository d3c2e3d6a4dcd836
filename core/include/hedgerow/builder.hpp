// Builds forests over all rows of a likelihood, with the prior's auxiliary variables and hyper-parameters as state.
#pragma once

#include <optional>
#include <utility>

#include "hedgerow/bhc.hpp"
#include "hedgerow/ibhc.hpp"

namespace hedgerow {

// A first u (and α where it has no other start), before there is a partition to draw it from: of several draws given one
// cluster, the one that makes new clusters least likely. A start the other way feeds on itself: rows stay alone because u is
// high, and u stays high because they are alone.
void first_guess(Measure& measure, Rng& rng, int n, const std::vector<double>& log_q, int group);
// u (if asked for) and the hyper-parameters that have laws, given the partition: of several draws in a row, the one of middling
// eagerness for new clusters. A single draw may be far out, and trees that were built under it do not forget it.
void resample_typically(Measure& measure, Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, bool u, int draws);

// Trees over rows with entries to be filled in are trees given those fillings: whole rows go in first, and each of the others is filled
// in when its turn comes, given the tree that it suits best. What the fillings were worth when drawn is taken off the log joint, which is
// then an estimate from one draw of what it is without them.
class TreeBuilder {
 public:
  TreeBuilder(std::shared_ptr<const Likelihood> likelihood, const Prior& prior, std::vector<int> groups, Adjacency adjacency,
              std::uint64_t seed, std::uint64_t sequence);
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;

  // From scratch: greedily, or over the rows in an order (empty: a random one). Early points are placed with little to go by,
  // so a balanced build looks at all of them again whenever their number has doubled, parts trees that are better as two, and then
  // draws u and the hyper-parameters anew if asked to.
  void grow_greedily();
  void grow_incrementally(std::vector<int> order, InsertOptions options, bool u = false, bool hyper = false);
  // Every row of the forest out and in again; unless thorough, only rows that belong to another tree now. Then trees that are better
  // as two are parted. With connectivity all is built anew instead: what is left of a set when a row leaves it need not hang together.
  void revise(std::vector<int> order, InsertOptions options, bool thorough = true);
  // The roots of the forest joined, past d = 1, into one tree; with connectivity, as far as they touch.
  void join_roots() { bhc(forest_, true); }

  // Fresh u and hyper-parameters given the partition at the roots; before the first tree, a first guess of u.
  void resample(bool u, bool hyper);

  // Keeps the trees and the prior's state as they are; and back to what was kept last.
  void keep();
  void go_back();

  double log_joint() { return forest_.log_joint() - log_filled_; }
  double log_front() const { return measure_.log_front() - log_filled_; }

  Forest& forest() { return forest_; }
  Measure& measure() { return measure_; }
  Rng& rng() { return rng_; }
  const Likelihood& likelihood() const { return *likelihood_; }

 private:
  void put_in(std::vector<int> order, InsertOptions options, bool u, bool hyper);
  void resample_so_far(const std::vector<int>& order, std::size_t count, bool u, bool hyper);
  void start_calmly(bool u);
  void shuffle(std::vector<int>& order);
  void finish(Inserter& inserter, InsertOptions options);

  std::shared_ptr<const Likelihood> likelihood_;
  Measure measure_;
  Adjacency adjacency_;
  Forest forest_;
  Rng rng_;
  double log_filled_ = 0.0;  // log density of the fillings as they were drawn
  struct Kept {
    Forest::Shape shape;
    Measure measure;
    std::vector<double> imputed;
    double log_filled;
  };
  std::optional<Kept> kept_;
};

}  // namespace hedgerow
