// Trees, their statistics and their roots; formulas as in forest.hpp.
#include "hedgerow/forest.hpp"

#include <algorithm>
#include <numeric>

#include "simd.hpp"

namespace hedgerow {
namespace {
// Below this log d a split of the node changes no printed digit of anything.
constexpr double kBeyondNotice = -40.0;
// Stands for log 0, of sets that no basis measure reaches: far below everything, and sums with it keep their digits.
constexpr double kImpossible = -1e9;

// Eight running maxima first, so that no step waits for the one before it.
int index_of_largest(const double* x, int k) {
  double top[8];
  for (double& t : top) t = -kInf;
  int i = 0;
  for (; i + 8 <= k; i += 8)
    for (int j = 0; j < 8; ++j) top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
  for (; i < k; ++i) top[0] = x[i] > top[0] ? x[i] : top[0];
  const double best = *std::max_element(top, top + 8);
  for (i = 0; i < k - 1 && x[i] != best;) ++i;
  return i;
}
}  // namespace

Forest::Forest(const Likelihood& likelihood, const Measure& measure, std::vector<int> groups)
    : likelihood_(likelihood),
      measure_(measure),
      groups_(std::move(groups)),
      plain_(measure.trivial_q()),
      R_(measure.bases()),
      nodes_(likelihood.statistics(Layout::nodes)),
      panel_(likelihood.statistics(Layout::clusters)) {
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
  kappa_.clear();
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

double Forest::grow_kappa(int m) const {
  constexpr int kMost = 1 << 20;
  if (m >= kMost) return measure_.log_kappa(m);
  const int old = static_cast<int>(kappa_.size());
  kappa_.resize(std::min(kMost, std::max(m + 64, 2 * old)));
  for (int i = old; i < static_cast<int>(kappa_.size()); ++i) kappa_[i] = i == 0 ? 0.0 : measure_.log_kappa(i);
  return kappa_[m];
}

double Forest::mixed_weight(Ref a, Ref b) const {
  const int m = size(a) + size(b);
  double few[16];
  std::vector<double> many;
  double* sum = few;
  if (R_ > 16) {
    many.resize(R_);
    sum = many.data();
  }
  const double* qa = log_q(a);
  const double* qb = log_q(b);
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
  nodes_->log_marginal_merged(x, &a, 1, &out);
  return out;
}

void Forest::joint_children(int c, Ref x, double* with_left, double* with_right) {
  const Ref l = inner_[c].left, r = inner_[c].right;
  if (x >= 0 && l >= 0 && r >= 0) {
    const int both[2] = {l, r};
    double out[2];
    nodes_->log_marginal_merged(x, both, 2, out);
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

template <class Visit>
void Forest::walk(Ref a, const Visit& visit) const {
  std::vector<Ref> stack{a};
  while (!stack.empty()) {
    const Ref v = stack.back();
    stack.pop_back();
    if (!visit(v) || !splittable(v)) continue;
    stack.push_back(inner_[v].right);
    stack.push_back(inner_[v].left);
  }
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

// ---- roots

void Forest::reserve_roots(int k) {
  panel_->reserve(k + 1);  // one more to hold a tree that is compared with all roots
  if (static_cast<int>(out_.size()) < padded(k + 1)) out_.resize(2 * padded(k + 1));
  while (static_cast<int>(front_.size()) <= k) front_.push_back(static_cast<int>(front_.size()));
  if (plain_) {
    base_.resize(std::max<std::size_t>(base_.size(), k));
    return;
  }
  if (padded(k) <= stride_) return;
  const int stride = 2 * padded(k);
  std::vector<double> mixing(static_cast<std::size_t>(stride) * R_, 0.0);
  for (int r = 0; r < R_; ++r)
    std::copy_n(mixing_.begin() + static_cast<std::ptrdiff_t>(r) * stride_, stride_,
                mixing.begin() + static_cast<std::ptrdiff_t>(r) * stride);
  mixing_ = std::move(mixing);
  scale_.resize(stride, 1.0);
  stride_ = stride;
}

// What turns log p(x | root k) into −log d(root k, x) + log φ(x): the prior weight of one more row, less the slack.
void Forest::load_weights(int k) {
  const Ref a = roots_[k];
  const int m = size(a);
  if (plain_) {
    base_[k] = std::log(m - measure_.sigma()) + measure_.join_shift(0) - slack(a);
    return;
  }
  std::vector<double> w(R_);
  measure_.log_basis(m, log_q(a), w.data());
  const double total = log_sum(w.data(), R_);
  for (int r = 0; r < R_; ++r) mixing_[static_cast<std::size_t>(r) * stride_ + k] = std::exp(w[r] - total);
  scale_[k] = (m - measure_.sigma()) * std::exp(-slack(a));
}

int Forest::add_root(Ref x, int tag) {
  const int k = roots();
  reserve_roots(k + 1);
  roots_.push_back(x);
  tags_.push_back(tag);
  set_parent(x, ~k);
  sync_root(k);
  return k;
}

void Forest::remove_root(int k) {
  const int last = roots() - 1;
  set_parent(roots_[k], kNoRef);
  if (k != last) {
    roots_[k] = roots_[last];
    tags_[k] = tags_[last];
    set_parent(roots_[k], ~k);
    panel_->copy(k, last);
    load_weights(k);
  }
  roots_.pop_back();
  tags_.pop_back();
}

void Forest::sync_root(int k, int added) {
  const Ref a = roots_[k];
  if (a < 0) {
    panel_->clear(k);
    panel_->add(k, ~a);
  } else if (added >= 0) {
    panel_->add(k, added);
  } else {
    panel_->load(k, *nodes_, a);
  }
  load_weights(k);
}

int Forest::root_of(Ref a) const {
  int p = parent(a);
  while (p >= 0) p = inner_[p].parent;
  return p == kNoRef ? -1 : ~p;
}

// out_[k] = log φ_h(row) − log d(root k, row).
void Forest::scan(int row) {
  const int k = roots();
  double* out = out_.data();
  evaluations_ += k;
  panel_->log_predictive_front(row, k, out);
  if (plain_) {
    for (int j = 0; j < k; ++j) out[j] += base_[j];
  } else {
    simd().mixed_weights(mixing_.data(), scale_.data(), k, stride_, R_, measure_.join_rate_row(group(row)), out);
  }
}

// log weight of root k less that of the same root without one row of group t.
double Forest::weight_step(int k, int t) const {
  const Ref root = roots_[k];
  const int m = size(root);
  if (plain_) return measure_.log_kappa(m) - measure_.log_kappa(m - 1);
  std::vector<double> without(log_q(root), log_q(root) + R_);
  for (int r = 0; r < R_; ++r) without[r] -= measure_.lq(t, r);
  return weight(root) - measure_.log_weight(m - 1, without.data());
}

bool Forest::stays(int row, int own, double step) {
  const Ref root = roots_[own];
  scan(row);
  const double here = step - slack(root) + nodes_->log_predictive_without(row, root);
  out_[own] = -kInf;
  return here >= *std::max_element(out_.data(), out_.data() + roots()) && here >= phi_h(~row);
}

bool Forest::stays(int row) {
  const int own = root_of(~row);
  return size(roots_[own]) > 1 && stays(row, own, weight_step(own, group(row)));
}

void Forest::movers(const int* rows, std::size_t count, std::vector<int>& out) {
  const int T = measure_.groups();
  std::vector<double> steps(static_cast<std::size_t>(roots()) * T, -kInf);
  std::vector<int> own;
  labels(own);
  out.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const int k = own[rows[i]];
    if (size(roots_[k]) == 1) {
      out.push_back(rows[i]);
      continue;
    }
    double& step = steps[static_cast<std::size_t>(k) * T + group(rows[i])];
    if (step == -kInf) step = weight_step(k, group(rows[i]));
    if (!stays(rows[i], k, step)) out.push_back(rows[i]);
  }
}

int Forest::nearest(Ref x, double* log_d) {
  const int k = roots();
  *log_d = kInf;
  int best = -1;
  if (adjacency_ != nullptr) {
    mark_touched(x);
    const double phi_x = phi_t(x);
    for (int j : touched_roots_) {
      const double d = phi_t(roots_[j]) + phi_x - joined_weight(roots_[j], x) - joint(roots_[j], x);
      if (d < *log_d) {
        *log_d = d;
        best = j;
      }
    }
    return best;
  }
  if (k == 0) return -1;
  double* out = out_.data();
  if (x < 0) {
    scan(~x);
    best = index_of_largest(out, k);
    *log_d = phi_h(x) - out[best];
    return best;
  }
  evaluations_ += k;
  panel_->load(k, *nodes_, x);
  panel_->log_marginal_merged(k, front_.data(), k, out);
  const double phi_x = phi_t(x);
  for (int j = 0; j < k; ++j) {
    const double d = phi_t(roots_[j]) + phi_x - joined_weight(roots_[j], x) - out[j];
    if (d < *log_d) {
      *log_d = d;
      best = j;
    }
  }
  return best;
}

void Forest::joint_front(Ref x, int k, double* out) {
  evaluations_ += k;
  if (x < 0) {
    panel_->log_predictive_front(~x, k, out);
    for (int j = 0; j < k; ++j) out[j] += log_like(roots_[j]);
    return;
  }
  const int scratch = roots();
  panel_->load(scratch, *nodes_, x);
  panel_->log_marginal_merged(scratch, front_.data(), k, out);
}

void Forest::mark_touched(Ref x) {
  ++stamp_;
  touched_roots_.clear();
  touched_rows_.clear();
  leaves(x, touched_rows_);
  for (int row : touched_rows_)
    for (std::int64_t i = adjacency_->indptr[row]; i < adjacency_->indptr[row + 1]; ++i) {
      Ref a = ~adjacency_->indices[i];
      while (!stamped(a)) {
        (a >= 0 ? inner_stamp_[a] : leaf_stamp_[~a]) = stamp_;
        const int p = parent(a);
        if (p >= 0) {
          a = p;
        } else if (p != kNoRef) {
          touched_roots_.push_back(~p);
        }
      }
    }
  std::sort(touched_roots_.begin(), touched_roots_.end());
}

// ---- whole-forest work

void Forest::refresh(bool everything) {
  std::fill(weight_.begin(), weight_.end(), kUnknown);
  kappa_.clear();
  std::vector<int> met;
  for (Ref root : roots_) {
    met.clear();
    walk(root, [&](Ref v) {
      if (v < 0) return false;
      met.push_back(v);
      return everything || log_d(v) > kBeyondNotice;
    });
    for (auto it = met.rbegin(); it != met.rend(); ++it)
      if (splittable(*it)) refresh_slack(*it);
  }
  for (int k = 0; k < roots(); ++k) load_weights(k);
}

void Forest::leaves(Ref a, std::vector<int>& rows) const {
  walk(a, [&](Ref v) {
    if (v < 0) rows.push_back(~v);
    return true;
  });
}

void Forest::labels(std::vector<int>& out) const {
  out.assign(leaf_parent_.size(), -1);
  for (int k = 0; k < roots(); ++k)
    walk(roots_[k], [&](Ref v) {
      if (v < 0) out[~v] = k;
      return true;
    });
}

void Forest::cluster_sizes(std::vector<int>& sizes, std::vector<double>& q) const {
  sizes.clear();
  q.clear();
  for (Ref root : roots_) {
    sizes.push_back(size(root));
    if (!plain_) q.insert(q.end(), log_q(root), log_q(root) + R_);
  }
}

double Forest::log_joint(const Measure& measure) {
  std::vector<int> sizes;
  std::vector<double> q;
  cluster_sizes(sizes, q);
  double total = measure.log_partition(sizes, q);
  for (Ref root : roots_) total += log_like(root);
  return total;
}

ForestArrays Forest::arrays(const std::vector<int>& leaf_id, int n, std::vector<int>* summaries) {
  std::vector<int> id(inner_.size(), -1), order;
  int next = n;
  for (Ref root : roots_)
    walk(root, [&](Ref v) {
      if (v >= 0 && !splittable(v)) {
        id[v] = next++;
        if (summaries != nullptr) summaries->push_back(v);
      } else if (v >= 0) {
        order.push_back(v);
      }
      return true;
    });
  for (auto it = order.rbegin(); it != order.rend(); ++it) id[*it] = next++;
  auto id_of = [&](Ref a) { return a >= 0 ? id[a] : leaf_id[~a]; };
  ForestArrays f;
  for (auto* v : {&f.left, &f.right, &f.parent}) v->assign(next, -1);
  f.size.assign(next, 1);
  f.log_phi_h.assign(next, 0.0);
  f.log_phi_t.assign(next, 0.0);
  f.log_d.assign(next, -kInf);
  for (Ref root : roots_) {
    const double unit = measure_.log_unit_of(plain_ ? nullptr : log_q(root));
    walk(root, [&](Ref v) {
      const int i = id_of(v), p = parent(v);
      f.size[i] = size(v);
      f.log_phi_h[i] = f.log_phi_t[i] = phi_h(v) - size(v) * unit;
      if (p >= 0) f.parent[i] = id_of(p);
      return true;
    });
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const int i = id[*it], l = id_of(inner_[*it].left), r = id_of(inner_[*it].right);
    f.left[i] = l;
    f.right[i] = r;
    f.log_d[i] = f.log_phi_t[l] + f.log_phi_t[r] - f.log_phi_h[i];
    f.log_phi_t[i] = f.log_phi_h[i] + softplus(f.log_d[i]);
  }
  return f;
}

double Forest::mean_depth() const {
  double total = 0.0, count = 0.0;
  std::vector<std::pair<Ref, int>> stack;
  for (Ref root : roots_) stack.emplace_back(root, 0);
  while (!stack.empty()) {
    const auto [v, depth] = stack.back();
    stack.pop_back();
    if (!splittable(v)) {
      total += depth;
      count += 1.0;
      continue;
    }
    stack.emplace_back(inner_[v].left, depth + 1);
    stack.emplace_back(inner_[v].right, depth + 1);
  }
  return count > 0.0 ? total / count : 0.0;
}

void Forest::restore(PagedVector<Inner> inner, std::vector<int> free_nodes, std::vector<double> log_q, const std::vector<Ref>& roots,
                     const std::vector<int>& tags) {
  inner_ = std::move(inner);
  free_ = std::move(free_nodes);
  log_q_ = std::move(log_q);
  inner_stamp_.assign(inner_.size(), 0);
  leaf_parent_.assign(likelihood_.rows(), kNoRef);
  leaf_stamp_.assign(likelihood_.rows(), 0);
  weight_.assign(plain_ ? 0 : inner_.size(), kUnknown);
  kappa_.clear();
  for (int c = kScratch; c < static_cast<int>(inner_.size()); ++c) {
    if (splittable(c))
      for (Ref child : {inner_[c].left, inner_[c].right}) set_parent(child, c);
  }
  roots_.clear();
  tags_.clear();
  for (std::size_t k = 0; k < roots.size(); ++k) add_root(roots[k], tags[k]);
  count_leaves();
}

void Forest::reshape(Shape shape) {
  inner_ = shape.inner;
  nodes_->reserve(static_cast<int>(inner_.size()));
  for (int c : shape.free_nodes) nodes_->clear(c);
  std::vector<int> met;
  for (Ref root : shape.roots)
    walk(root, [&](Ref v) {
      if (v >= 0) met.push_back(v);
      return true;
    });
  for (auto it = met.rbegin(); it != met.rend(); ++it) {
    fill(*it, inner_[*it].left);
    put(*it, inner_[*it].right);
  }
  restore(std::move(shape.inner), std::move(shape.free_nodes), std::move(shape.log_q), shape.roots, shape.tags);
}

bool Forest::consistent() {
  auto alike = [](double a, double b) { return std::abs(a - b) <= 1e-6 * (1.0 + std::abs(a)); };
  for (int c = kScratch; c < static_cast<int>(inner_.size()); ++c) {
    if (inner_[c].size == 0) continue;
    if (!alike(nodes_->log_marginal(c), inner_[c].log_like)) return false;
    if (!splittable(c)) continue;
    fill(0, inner_[c].left);
    put(0, inner_[c].right);
    if (!alike(nodes_->log_marginal(0), inner_[c].log_like) || !nodes_->same_counts(0, c)) return false;
  }
  return true;
}

void Forest::resync_roots() {
  for (int k = 0; k < roots(); ++k) sync_root(k);
}

}  // namespace hedgerow
