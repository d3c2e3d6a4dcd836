// Work over a whole forest: potentials anew, labels, plain arrays, and trees put back from them.
#include "hedgerow/forest.hpp"

namespace hedgerow {
namespace {
// Below this log d a split of the node changes no printed digit of anything.
constexpr double kBeyondNotice = -40.0;
}  // namespace

void Forest::refresh(bool everything) {
  std::fill(weight_.begin(), weight_.end(), kUnknown);
  forget_kappa();
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
  forget_kappa();
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
