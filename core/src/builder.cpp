// One build after another over the same rows.
#include "hedgerow/builder.hpp"

#include <numeric>

namespace hedgerow {
namespace {

constexpr std::size_t kFirstRevision = 64;

std::vector<int> group_sizes(const std::vector<int>& groups, int rows, int T) {
  std::vector<int> sizes(T, 0);
  if (groups.empty()) sizes[0] = rows;
  for (int t : groups) ++sizes[t];
  return sizes;
}

}  // namespace

void first_guess(Measure& measure, Rng& rng, int n, const std::vector<double>& log_q, int group) {
  constexpr int kDraws = 8;
  auto eagerness = [&] {  // prior odds of two rows being apart
    std::vector<double> one(measure.lq_row(group), measure.lq_row(group) + measure.bases()), two = one;
    for (double& q : two) q *= 2.0;
    return 2.0 * measure.log_weight(1, one.data()) - measure.log_weight(2, two.data());
  };
  Measure best = measure;
  double least = kInf;
  for (int i = 0; i < kDraws; ++i) {
    measure.update_u(rng, {n}, log_q);
    const double now = eagerness();
    if (now >= least) continue;
    least = now;
    best = measure;
  }
  measure = best;
}

TreeBuilder::TreeBuilder(std::shared_ptr<const Likelihood> likelihood, const Prior& prior, std::vector<int> groups, Adjacency adjacency,
                         std::uint64_t seed, std::uint64_t stream)
    : likelihood_(std::move(likelihood)),
      measure_(prior, group_sizes(groups, likelihood_->rows(), prior.groups)),
      adjacency_(std::move(adjacency)),
      forest_(*likelihood_, measure_, std::move(groups)),
      rng_(seed, stream) {
  if (!adjacency_.indptr.empty()) forest_.set_adjacency(&adjacency_);
}

void TreeBuilder::grow_greedily() {
  forest_.clear();
  for (int row = 0; row < likelihood_->rows(); ++row) forest_.add_root(~row, row);
  bhc(forest_, false);
}

void TreeBuilder::shuffle(std::vector<int>& order) {
  if (!order.empty()) return;
  order.resize(likelihood_->rows());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::swap(order[i], order[i + static_cast<std::size_t>(rng_.below(order.size() - i))]);
}

void TreeBuilder::finish(Inserter& inserter, InsertOptions options) {
  if (options.top) return;
  if (!options.reinsert) {
    bhc(forest_, false);
  } else if (options.balance) {
    inserter.consolidate();
  }
}

void TreeBuilder::grow_incrementally(std::vector<int> order, InsertOptions options) {
  shuffle(order);
  forest_.clear();
  Inserter inserter(forest_, options);
  std::size_t next = kFirstRevision;
  for (std::size_t i = 0; i < order.size(); ++i) {
    inserter.insert(~order[i]);
    if (!options.balance || options.top || forest_.adjacency() != nullptr || i + 1 < next) continue;
    finish(inserter, options);
    for (std::size_t j = 0; j <= i; ++j) inserter.reinsert(order[j]);
    next = 2 * (i + 1);
  }
  finish(inserter, options);
}

void TreeBuilder::revise(std::vector<int> order, InsertOptions options) {
  if (forest_.adjacency() != nullptr) return grow_incrementally(std::move(order), options);
  shuffle(order);
  Inserter inserter(forest_, options);
  inserter.number_roots();
  for (int row : order) inserter.reinsert(row);
  finish(inserter, options);
}

void TreeBuilder::resample(bool u, bool hyper) {
  std::vector<int> sizes;
  std::vector<double> log_q;
  forest_.cluster_sizes(sizes, log_q);
  if (sizes.empty()) {
    const int rows = likelihood_->rows();
    if (!measure_.trivial_q()) {
      log_q.assign(measure_.bases(), 0.0);
      for (int row = 0; row < rows; ++row)
        for (int r = 0; r < measure_.bases(); ++r) log_q[r] += measure_.lq(forest_.group(row), r);
    }
    if (u && rows > 0) first_guess(measure_, rng_, rows, log_q, forest_.group(0));
    return;
  }
  if (u) measure_.update_u(rng_, sizes, log_q);
  if (hyper) measure_.update_hyper(rng_, sizes, log_q);
  forest_.refresh(true);
}

}  // namespace hedgerow
