// One build after another over the same rows.
#include "hedgerow/builder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hedgerow/imputation.hpp"
#include "hedgerow/patience.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kFirstRevision = 64;
constexpr std::size_t kFew = 512;  // up to so many rows, all are taken out and in again when their number has doubled
constexpr int kTypical = 9;
constexpr int kBreath = 64;  // rows between two looks

std::vector<int> group_sizes(const std::vector<int>& groups, int rows, int T) {
  std::vector<int> sizes(T, 0);
  if (groups.empty()) sizes[0] = rows;
  for (int t : groups) ++sizes[t];
  return sizes;
}

// Prior odds of two rows being apart, in logs: the mean over groups that have rows.
double eagerness(const Measure& measure) {
  double total = 0.0, count = 0.0;
  std::vector<double> one(measure.bases()), two(measure.bases());
  for (int t = 0; t < measure.groups(); ++t) {
    if (measure.group_sizes()[t] == 0) continue;
    for (int r = 0; r < measure.bases(); ++r) two[r] = 2.0 * (one[r] = measure.lq(t, r));
    total += 2.0 * measure.log_weight(1, one.data()) - measure.log_weight(2, two.data());
    count += 1.0;
  }
  return total / count;
}

}  // namespace

void first_guess(Measure& measure, Rng& rng, int n, const std::vector<double>& log_q, int group) {
  constexpr int kDraws = 8;
  auto eagerness = [&] {  // prior odds of two rows being apart
    std::vector<double> one(measure.lq_row(group), measure.lq_row(group) + measure.bases()), two = one;
    for (double& q : two) q *= 2.0;
    return 2.0 * measure.log_weight(1, one.data()) - measure.log_weight(2, two.data());
  };
  MeasureState best = measure.state();
  double least = kInf;
  for (int i = 0; i < kDraws; ++i) {
    measure.update_u(rng, {n}, log_q);
    const double now = eagerness();
    if (now >= least) continue;
    least = now;
    best = measure.state();
  }
  measure.set(std::move(best));
}

void resample_typically(Measure& measure, Rng& rng, const std::vector<int>& sizes, const std::vector<double>& log_q, bool u,
                        int draws) {
  std::vector<std::pair<double, MeasureState>> drawn;
  for (int i = 0; i < draws; ++i) {
    if (u) measure.update_u(rng, sizes, log_q);
    measure.update_hyper(rng, sizes, log_q, u);
    if (i >= draws / 4) drawn.emplace_back(eagerness(measure), measure.state());
  }
  const auto middle = drawn.begin() + static_cast<std::ptrdiff_t>(drawn.size() / 2);
  std::nth_element(drawn.begin(), middle, drawn.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  measure.set(std::move(middle->second));
}

TreeBuilder::TreeBuilder(std::shared_ptr<const Likelihood> likelihood, const Prior& prior, std::vector<int> groups, Adjacency adjacency,
                         std::uint64_t seed, std::uint64_t sequence)
    : likelihood_(with_own_imputations(std::move(likelihood))),
      measure_(prior, group_sizes(groups, likelihood_->rows(), prior.groups)),
      adjacency_(std::move(adjacency)),
      forest_(*likelihood_, measure_, std::move(groups)),
      rng_(seed, sequence) {
  if (!adjacency_.indptr.empty()) forest_.set_adjacency(&adjacency_);
}

void TreeBuilder::grow_greedily() {
  if (!likelihood_->imputed_rows().empty()) {  // they are filled in given clusters, so some must be there
    std::vector<int> order;
    shuffle(order);
    put_in(order, {}, false, false);
  }
  forest_.clear();
  for (int row = 0; row < likelihood_->rows(); ++row) forest_.add_root(~row, row);
  bhc(forest_, false);
}

void TreeBuilder::shuffle(std::vector<int>& order) {
  if (!order.empty()) return;
  order.resize(likelihood_->rows());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i], order[i + static_cast<std::size_t>(rng_.below(order.size() - i))]);
}

void TreeBuilder::finish(Inserter& inserter, InsertOptions options) {
  if (options.top) return;
  if (!options.reinsert) {
    bhc(forest_, false);
  } else if (options.balance) {
    inserter.consolidate();
  }
}

// u and the hyper-parameters anew from the rows put in so far. Few rows look like many clusters, and a draw that is eagerer for new
// ones than what it replaces would feed on itself: only calmer draws are taken.
void TreeBuilder::resample_so_far(const std::vector<int>& order, std::size_t count, bool u, bool hyper) {
  const std::vector<int> all = measure_.group_sizes();
  std::vector<int> so_far(all.size(), 0), sizes;
  std::vector<double> log_q;
  for (std::size_t i = 0; i < count; ++i) ++so_far[forest_.group(order[i])];
  forest_.cluster_sizes(sizes, log_q);
  const Measure before = measure_;
  measure_.set_group_sizes(so_far);
  const double least = eagerness(measure_);
  if (u || hyper) resample_typically(measure_, rng_, sizes, log_q, u, kTypical);
  if (eagerness(measure_) < least) {
    measure_.set_group_sizes(all);
  } else {
    measure_ = before;
  }
  forest_.refresh(false);
}

void TreeBuilder::put_in(std::vector<int> order, InsertOptions options, bool u, bool hyper) {
  forest_.clear();
  log_filled_ = 0.0;
  std::vector<char> gaps(likelihood_->rows(), 0);
  for (int row : likelihood_->imputed_rows()) gaps[row] = 1;
  std::stable_partition(order.begin(), order.end(), [&](int row) { return gaps[row] == 0; });
  Inserter inserter(forest_, options);
  std::size_t next = kFirstRevision;
  std::vector<int> rows;
  Patience patience(kBreath);
  for (std::size_t i = 0; i < order.size(); ++i) {
    patience.pause();
    if (gaps[order[i]]) log_filled_ += impute_for_roots(forest_, order[i], rng_);
    inserter.insert(~order[i]);
    if (!options.balance || options.top || forest_.adjacency() != nullptr || i + 1 < next) continue;
    finish(inserter, options);
    if (i < kFew) {
      rows.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      forest_.movers(std::span(order).first(i + 1), rows);
    }
    for (int row : rows) {
      patience.pause();
      inserter.reinsert(row);
    }
    inserter.part();
    if (u || hyper) resample_so_far(order, i + 1, u, hyper);
    next = 2 * (i + 1);
  }
  finish(inserter, options);
}

// Hyper-parameters that are drawn have to begin somewhere, and where decides much: under eager ones rows stay alone and keep them
// eager. Calm ones, those typical of one cluster, are left again soon: a tree that is better as two clusters is parted.
void TreeBuilder::start_calmly(bool u) {
  const int rows = likelihood_->rows();
  std::vector<double> log_q(measure_.trivial_q() ? 0 : measure_.bases(), 0.0);
  for (int row = 0; row < rows; ++row)
    for (std::size_t r = 0; r < log_q.size(); ++r) log_q[r] += measure_.lq(forest_.group(row), static_cast<int>(r));
  resample_typically(measure_, rng_, {rows}, log_q, u, kTypical);
}

void TreeBuilder::grow_incrementally(std::vector<int> order, InsertOptions options, bool u, bool hyper) {
  shuffle(order);
  if (hyper && options.balance && !options.top && forest_.adjacency() == nullptr) start_calmly(u);
  put_in(order, options, u, hyper);
}

void TreeBuilder::revise(std::vector<int> order, InsertOptions options, bool thorough) {
  if (forest_.adjacency() != nullptr) return grow_incrementally(std::move(order), options, false, false);
  shuffle(order);
  Inserter inserter(forest_, options);
  inserter.number_roots();
  std::vector<int> movers;
  if (!thorough) forest_.movers(order, movers);
  Patience patience(kBreath);
  for (int row : thorough ? order : movers) {
    patience.pause();
    inserter.reinsert(row);
  }
  inserter.part(thorough ? nullptr : &rng_);
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
  if (u || hyper) resample_typically(measure_, rng_, sizes, log_q, u, kTypical);
  forest_.refresh(false);
}

void TreeBuilder::keep() {
  kept_.emplace(Kept{forest_.shape(), measure_, {}, log_filled_});
  likelihood_->save_imputed(kept_->imputed);
}

void TreeBuilder::go_back() {
  if (!kept_) return;
  measure_ = kept_->measure;
  likelihood_->load_imputed(kept_->imputed);
  log_filled_ = kept_->log_filled;
  forest_.reshape(kept_->shape);
}

}  // namespace hedgerow
