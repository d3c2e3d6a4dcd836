// Growth with folding, and the shelf.
#include "hedgerow/grown_guide.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "hedgerow/bhc.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/ibhc.hpp"

namespace hedgerow {
namespace {
constexpr int kMostNodes = 2048;      // before what is certain is folded, down to half of them
constexpr int kFinest = 64;           // no leaf stands for more than this part of the rows
constexpr int kTypical = 15;          // draws of u and the hyper-parameters, of which a middling one is kept
constexpr std::size_t kShelved = 16;  // guides

std::vector<int> group_sizes(const std::vector<int>& groups, int rows, int count) {
  std::vector<int> sizes(count, 0);
  if (groups.empty()) sizes[0] = rows;
  for (int t : groups) ++sizes[t];
  return sizes;
}

Measure measure_of_one_cluster(const Prior& prior, const std::vector<int>& groups, int n, Rng& rng) {
  Measure measure(prior, group_sizes(groups, n, prior.groups));
  std::vector<double> log_q(measure.trivial_q() ? 0 : measure.bases(), 0.0);
  for (int i = 0; i < n && !log_q.empty(); ++i)
    for (std::size_t r = 0; r < log_q.size(); ++r) log_q[r] += measure.lq(groups.empty() ? 0 : groups[i], static_cast<int>(r));
  if (measure.has_laws() || !measure.u_integrated()) resample_typically(measure, rng, {n}, log_q, true, kTypical);
  return measure;
}

class Growth {
 public:
  Growth(const Likelihood& likelihood, const Measure& measure, const std::vector<int>& groups)
      : forest_(likelihood, measure, groups), inserter_(forest_, {}) {
    left_.reserve(likelihood.rows() - 1);
    right_.reserve(likelihood.rows() - 1);
    doubt_.reserve(likelihood.rows() - 1);
  }

  void insert(int row) {
    inserter_.insert(~row);
    ++seen_;
    if (forest_.inner_nodes() > most_) fold();
  }

  GrownGuide finish() {
    GrownGuide grown;
    bhc(forest_, false);
    std::vector<Ref> tops;
    for (int k = 0; k < forest_.roots(); ++k) tops.push_back(forest_.root(k));
    bhc(forest_, true);
    find_ends(tops, grown.ends);
    const int root = number(forest_.root(0));
    std::vector<int> nodes;
    grown.guide.tree = Guide::of_tree(root, left_, right_, nodes);
    grown.guide.split_probability.reserve(nodes.size());
    for (int v : nodes) grown.guide.split_probability.push_back(doubt_[v]);
    return grown;
  }

 private:
  // The least detail is lost first. Where hardly anything is certain more nodes are kept.
  void fold() {
    int largest = 4, left_over;
    while ((left_over = forest_.foldable(largest, true, certain_)) > most_ / 2 && largest < seen_ / kFinest) largest *= 2;
    std::vector<int> rows, leaves;
    for (Ref c : certain_) {
      number(c);
      rows.clear();
      forest_.fold(c, rows, leaves);
    }
    forest_.count_leaves();
    most_ = std::max(most_, 2 * left_over);
  }

  // The tree below c in the arrays of the guide; its number there, ~row for a row.
  int number(Ref c) {
    if (c < 0) return c;
    number_.resize(forest_.inner().size(), -1);
    std::vector<Ref> below{c};
    for (std::size_t i = 0; i < below.size(); ++i)
      if (forest_.splittable(below[i]))
        for (Ref child : {forest_.left(below[i]), forest_.right(below[i])})
          if (child >= 0) below.push_back(child);
    auto id = [this](Ref a) { return a < 0 ? a : number_[a]; };
    for (auto it = below.rbegin(); it != below.rend(); ++it) {
      if (!forest_.splittable(*it)) continue;
      left_.push_back(id(forest_.left(*it)));
      right_.push_back(id(forest_.right(*it)));
      doubt_.push_back(static_cast<float>(1.0 / (1.0 + std::exp(-forest_.log_d(*it)))));
      number_[*it] = static_cast<int>(left_.size()) - 1;
    }
    return number_[c];
  }

  // Of these trees, now joined into one, in its order.
  void find_ends(std::vector<Ref>& tops, std::vector<int>& ends) {
    std::sort(tops.begin(), tops.end());
    std::vector<Ref> stack{forest_.root(0)};
    int end = 0;
    while (!stack.empty()) {
      const Ref c = stack.back();
      stack.pop_back();
      if (std::binary_search(tops.begin(), tops.end(), c)) {
        ends.push_back(end += forest_.size(c));
      } else {
        stack.push_back(forest_.right(c));
        stack.push_back(forest_.left(c));
      }
    }
  }

  Forest forest_;
  Inserter inserter_;
  int seen_ = 0, most_ = kMostNodes;
  std::vector<int> left_, right_;  // of the guide's inner nodes: an inner node, or ~row
  std::vector<float> doubt_;       // P(not one cluster) of each
  std::vector<int> number_;        // of the forest's nodes that are in those arrays
  std::vector<Ref> certain_;
};

std::uint64_t hash_of(const Prior& prior, const std::vector<int>& groups) {
  std::uint64_t hash = 0;
  auto mix = [&hash](std::uint64_t x) { hash = (std::rotl(hash, 23) ^ x) * 0x9E3779B97F4A7C15ull; };
  auto law = [&](const std::optional<Law>& one) {
    mix(one.has_value());
    for (double x : {one ? one->a : 0.0, one ? one->b : 0.0}) mix(std::bit_cast<std::uint64_t>(x));
  };
  mix(static_cast<std::uint64_t>(prior.kind));
  mix(reinterpret_cast<std::uintptr_t>(prior.form));
  for (double x : {prior.alpha, prior.sigma, prior.tau}) mix(std::bit_cast<std::uint64_t>(x));
  for (const auto* one : {&prior.alpha_law, &prior.sigma_law, &prior.tau_law}) law(*one);
  for (const Prior::Own& one : prior.own) {
    mix(std::bit_cast<std::uint64_t>(one.value));
    law(one.law);
  }
  mix(static_cast<std::uint64_t>(prior.groups));
  mix(static_cast<std::uint64_t>(prior.bases));
  for (double x : prior.q) mix(std::bit_cast<std::uint64_t>(x));
  for (int t : groups) mix(static_cast<std::uint64_t>(t));
  return hash;
}
}  // namespace

OwnShelf::OwnShelf() : shelf_(std::make_shared<GuideShelf>()) {}

std::vector<int> GrownGuide::labels() const {
  const std::vector<int>& order = guide.tree.order;
  std::vector<int> out(order.size());
  for (int k = 0, at = 0; k < static_cast<int>(ends.size()); ++k)
    for (; at < ends[k]; ++at) out[order[at]] = k;
  return out;
}

GrownGuide grow_guide(const Likelihood& likelihood, const Prior& prior, const std::vector<int>& groups, std::uint64_t seed,
                      std::uint64_t number) {
  const int n = likelihood.rows();
  Rng rng(~seed, number);  // chains have the sequences of the seed itself
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < n; ++i) std::swap(order[i], order[i + rng.index(n - i)]);
  const Measure measure = measure_of_one_cluster(prior, groups, n, rng);
  Growth growth(likelihood, measure, groups);
  for (int row : order) growth.insert(row);
  return growth.finish();
}

GuideShelf::Grown GuideShelf::get(const Likelihood& likelihood, const Prior& prior, const std::vector<int>& groups, std::uint64_t seed,
                                  std::uint64_t number) {
  std::unique_lock guard(lock_);
  const std::uint64_t rest = hash_of(prior, groups);
  for (const Entry& entry : entries_)
    if (entry.seed == seed && entry.number == number && entry.rest == rest) {
      const std::shared_future<Grown> guide = entry.guide;
      guard.unlock();
      return guide.get();
    }
  std::promise<Grown> promise;
  entries_.push_front({seed, number, rest, promise.get_future().share()});
  if (entries_.size() > kShelved) entries_.pop_back();
  const auto own = entries_.front().guide;
  guard.unlock();
  try {
    promise.set_value(std::make_shared<const GrownGuide>(grow_guide(likelihood, prior, groups, seed, number)));
  } catch (...) {
    guard.lock();
    entries_.remove_if([&](const Entry& entry) { return entry.seed == seed && entry.number == number && entry.rest == rest; });
    guard.unlock();
    promise.set_exception(std::current_exception());
  }
  return own.get();
}

}  // namespace hedgerow
