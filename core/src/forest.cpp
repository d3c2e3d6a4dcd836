// Trees and their statistics: joined, taken apart, folded; formulas as in forest.hpp.
#include "hedgerow/forest.hpp"

#include <algorithm>
#include <numeric>

namespace hedgerow {
namespace {
// Stands for log 0, of sets that no basis measure reaches: far below everything, and sums with it keep their digits.
constexpr double kImpossible = -1e9;
}  // namespace

Forest::Forest(const Likelihood& likelihood, const Measure& measure, std::vector<int> groups)
    : likelihood_(likelihood),
      measure_(measure),
      groups_(std::move(groups)),
      plain_(measure.trivial_q()),
      R_(measure.bases()),
      nodes_(likelihood.statistics(Layout::nodes)),
      panel_(likelihood.statistics(Layout::clusters)),
      join_(measure) {
  clear();
}

void Forest::clear() {
  inner_.assign(kScratch, {kNoRef, kNoRef, kNoRef, 0, 0, 0.0, 0.0});
  inner_stamp_.assign(kScratch, 0);
  free_.clear();
  leaf_parent_.clear();
  leaf_stamp_.clear();
  roots_.clear();
  tags_.clear();
  log_q_.assign(plain_ ? 0 : static_cast<std::size_t>(kScratch) * R_, 0.0);
  weight_.assign(plain_ ? 0 : kScratch, 0.0);
  forget_kappa();
  stamp_ = 0;
  grow();
}

void Forest::grow() {
  leaf_parent_.resize(likelihood_.rows(), kNoRef);
  leaf_stamp_.resize(likelihood_.rows(), 0);
}

void Forest::set_group(int row, int group) {
  if (groups_.empty() && group == 0 && measure_.groups() == 1) return;
  groups_.resize(std::max<std::size_t>(groups_.size(), row + 1), 0);
  groups_[row] = group;
}

// ---- potentials

const double* Forest::log_q(Ref a) const {
  if (plain_) return nullptr;
  return a >= 0 ? log_q_.data() + static_cast<std::size_t>(a) * R_ : measure_.lq_row(group(~a));
}

double Forest::find_kappa(int m) const {
  if (m >= kFewKappa) {
    if (far_kappa_.empty()) far_kappa_.resize(kFewKappa);
    return (far_kappa_[m % kFewKappa] = {m, measure_.log_kappa(m)}).value;
  }
  if (kappa_.empty()) kappa_.assign(kFewKappa, kUnknown);
  return kappa_[m] = m == 0 ? 0.0 : measure_.log_kappa(m);
}

double Forest::mixed_weight(Ref a, Ref b) const {
  const int m = size(a) + size(b);
  const double* qa = log_q(a);
  const double* qb = log_q(b);
  constexpr int kFew = 16;
  if (R_ > kFew) return std::max(measure_.log_weight(m, qa, qb, 1.0), kImpossible);
  double sum[kFew];
  for (int r = 0; r < R_; ++r) sum[r] = qa[r] + qb[r];
  return std::max(measure_.log_weight(m, sum), kImpossible);
}

double Forest::weight_of(int c) const { return std::max(measure_.log_weight(inner_[c].size, log_q(c)), kImpossible); }

double Forest::joint(Ref a, Ref x) {
  ++evaluations_;
  if (a < 0 && x < 0) {
    nodes_->reserve(kScratch);
    nodes_->clear(0);
    nodes_->add(0, ~a);
    return log_like(a) + nodes_->log_predictive(~x, 0);
  }
  if (x < 0) return inner_[a].log_like + nodes_->log_predictive(~x, a);
  if (a < 0) return inner_[x].log_like + nodes_->log_predictive(~a, x);
  double out;
  nodes_->log_marginal_merged(x, {&a, 1}, &out);
  return out;
}

void Forest::joint_children(int c, Ref x, double* with_left, double* with_right) {
  const Ref l = inner_[c].left, r = inner_[c].right;
  if (x >= 0 && l >= 0 && r >= 0) {
    const int both[2] = {l, r};
    double out[2];
    nodes_->log_marginal_merged(x, both, out);
    evaluations_ += 2;
    *with_left = out[0];
    *with_right = out[1];
    return;
  }
  *with_left = joint(l, x);
  *with_right = joint(r, x);
}

// ---- changing trees

int Forest::fresh() {
  if (!free_.empty()) {
    const int c = free_.back();
    free_.pop_back();
    return c;
  }
  const int c = static_cast<int>(inner_.size());
  inner_.push_back({});
  inner_stamp_.push_back(0);
  if (!plain_) {
    log_q_.resize(static_cast<std::size_t>(c + 1) * R_, 0.0);
    weight_.push_back(0.0);
  }
  nodes_->reserve(c + 1);
  return c;
}

void Forest::release(int c) {
  inner_[c] = {kNoRef, kNoRef, kNoRef, 0, 0, 0.0, 0.0};
  nodes_->clear(c);
  free_.push_back(c);
}

void Forest::fill(int slot, Ref a) {
  if (a >= 0) return nodes_->copy(slot, a);
  nodes_->clear(slot);
  nodes_->add(slot, ~a);
}

void Forest::put(int slot, Ref a) {
  if (a >= 0) return nodes_->merge(slot, a);
  nodes_->add(slot, ~a);
}

void Forest::put_in_place_of(Ref a, Ref by) {
  const int p = parent(a);
  set_parent(by, p);
  if (p == kNoRef) return;
  if (p < 0) {
    roots_[~p] = by;
  } else {
    (inner_[p].left == a ? inner_[p].left : inner_[p].right) = by;
  }
}

int Forest::join(Ref a, Ref b, double weight) {
  const int c = fresh();
  const bool a_first = b < 0 || (a >= 0 && size(a) >= size(b));
  fill(c, a_first ? a : b);
  put(c, a_first ? b : a);
  inner_[c] = {a, b, kNoRef, size(a) + size(b), leaf_count(a) + leaf_count(b), 0.0, 0.0};
  inner_[c].log_like = nodes_->log_marginal(c);
  if (!plain_) {
    const double* qa = log_q(a);
    const double* qb = log_q(b);
    double* q = log_q_.data() + static_cast<std::size_t>(c) * R_;
    for (int r = 0; r < R_; ++r) q[r] = qa[r] + qb[r];
    weight_[c] = weight;
  }
  put_in_place_of(a, c);
  set_parent(a, c);
  set_parent(b, c);
  refresh_slack(c);
  return c;
}

void Forest::absorb(int c, Ref x, double weight) {
  put(c, x);
  Inner& node = inner_[c];
  node.size += size(x);
  node.leaves += leaf_count(x);
  node.log_like = nodes_->log_marginal(c);
  if (plain_) return;
  const double* qx = log_q(x);
  for (int r = 0; r < R_; ++r) log_q_[static_cast<std::size_t>(c) * R_ + r] += qx[r];
  weight_[c] = weight;
}

void Forest::splice(int c, Ref keep) {
  set_parent(sibling(c, keep), kNoRef);
  put_in_place_of(c, keep);
  release(c);
}

void Forest::rotate(int c, Ref a, double log_like_pair) {
  const int p = inner_[c].parent;
  const Ref s = sibling(p, c), b = sibling(c, a);
  inner_[p].left = c;
  inner_[p].right = b;
  set_parent(b, p);
  const Ref big = size(s) >= size(a) ? s : a, small = big == s ? a : s;
  fill(c, big);
  put(c, small);
  inner_[c] = {s, a, p, size(s) + size(a), leaf_count(s) + leaf_count(a), log_like_pair, 0.0};
  set_parent(s, c);
  if (!plain_) {
    const double* qa = log_q(a);
    const double* qs = log_q(s);
    for (int r = 0; r < R_; ++r) log_q_[static_cast<std::size_t>(c) * R_ + r] = qa[r] + qs[r];
    weight_[c] = kUnknown;
  }
  refresh_slack(c);
}

Ref Forest::take_out(int row) {
  const int p = leaf_parent_[row];
  if (p < 0) {
    remove_root(~p);
    return kNoRef;
  }
  const Ref s = sibling(p, ~row);
  splice(p, s);
  int c = parent(s);
  for (; c >= 0; c = inner_[c].parent) {
    Inner& node = inner_[c];
    if (!nodes_->remove(c, row)) {
      fill(c, node.left);
      put(c, node.right);
    }
    --node.size;
    --node.leaves;
    node.log_like = nodes_->log_marginal(c);
    if (!plain_) {
      const double* ql = log_q(node.left);  // summed anew: log 0 cannot be taken away again
      const double* qr = log_q(node.right);
      for (int r = 0; r < R_; ++r) log_q_[static_cast<std::size_t>(c) * R_ + r] = ql[r] + qr[r];
      weight_[c] = kUnknown;
    }
    refresh_slack(c);
  }
  sync_root(~c);
  return s;
}

void Forest::split(int c) {
  set_parent(inner_[c].left, kNoRef);
  set_parent(inner_[c].right, kNoRef);
  release(c);
}

int Forest::foldable(int largest, bool certain_only, std::vector<Ref>& out) const {
  constexpr double kCertain = -20.0;  // log d of a set that is one cluster for every purpose
  out.clear();
  int left_over = 0;
  std::vector<std::pair<Ref, bool>> stack;
  for (int k = 0; k < roots(); ++k) stack.emplace_back(root(k), !certain_only);
  while (!stack.empty()) {
    auto [c, certain] = stack.back();
    stack.pop_back();
    if (c < 0) continue;
    ++left_over;
    if (!splittable(c)) continue;
    certain = certain || log_d(c) < kCertain;
    if (certain && size(c) <= largest) {
      out.push_back(c);
      continue;
    }
    stack.emplace_back(left(c), certain);
    stack.emplace_back(right(c), certain);
  }
  return left_over;
}

void Forest::fold(int c, std::vector<int>& rows, std::vector<int>& leaves) {
  std::vector<int> below;
  walk(c, [&](Ref v) {
    if (v < 0) {
      rows.push_back(~v);
    } else if (v != c) {
      below.push_back(v);
      if (!splittable(v)) leaves.push_back(v);
    }
    return true;
  });
  for (int row : rows) leaf_parent_[row] = kNoRef;
  for (int v : below) release(v);
  inner_[c].left = inner_[c].right = kNoRef;
  inner_[c].leaves = 1;
  inner_[c].slack = 0.0;
}

void Forest::count_leaves() {
  std::vector<int> met;
  for (Ref root : roots_)
    walk(root, [&](Ref v) {
      if (v >= 0) met.push_back(v);
      return true;
    });
  for (auto it = met.rbegin(); it != met.rend(); ++it)
    inner_[*it].leaves = splittable(*it) ? leaf_count(inner_[*it].left) + leaf_count(inner_[*it].right) : 1;
}

}  // namespace hedgerow
