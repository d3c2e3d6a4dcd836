// The trees that published tgMCMC carries along.
#include <cmath>

#include "hedgerow/kernels/published.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

Trees::Trees(State& state)
    : state_(state),
      n_(state.partition.rows()),
      R_(state.measure.bases()),
      node_(n_),
      statistics_(state.partition.likelihood().statistics(Layout::nodes)) {
  statistics_->reserve(2 * n_ + 2);
  if (!state.measure.trivial_q()) q_.resize(static_cast<std::size_t>(n_) * R_);
  for (int i = 0; i < n_; ++i) {
    statistics_->add(i, i);
    for (int r = 0; r < R_ && !q_.empty(); ++r)
      q_[static_cast<std::size_t>(i) * R_ + r] = state.measure.lq(state.partition.group(i), r);
    set_potentials(i);
  }
}

void Trees::set_potentials(int v) {
  node_[v].log_like = statistics_->log_marginal(v);
  weigh(v);
}

void Trees::weigh(int v) {
  Node& node = node_[v];
  node.phi_h = state_.measure.log_weight(node.size, q(v)) + node.log_like;
  node.phi_t = leaf(v) ? node.phi_h : log_add(node.phi_h, phi_t(node.left) + phi_t(node.right));
}

double Trees::weight_joined(int a, int b) const {
  std::vector<double> sum(q_.empty() ? 0 : R_);
  for (std::size_t r = 0; r < sum.size(); ++r) sum[r] = q(a)[r] + q(b)[r];
  return state_.measure.log_weight(size(a) + size(b), sum.data());
}

void Trees::log_d(int a, const std::vector<int>& others, std::vector<double>& out) {
  out.resize(others.size());
  statistics_->log_marginal_merged(a, others, out.data());
  for (std::size_t i = 0; i < others.size(); ++i) out[i] = phi_t(a) + phi_t(others[i]) - weight_joined(a, others[i]) - out[i];
}

int Trees::fresh() {
  if (!free_.empty()) {
    const int v = free_.back();
    free_.pop_back();
    return v;
  }
  node_.emplace_back();
  const int v = static_cast<int>(node_.size()) - 1;
  if (!q_.empty()) q_.resize(static_cast<std::size_t>(v + 1) * R_);
  statistics_->reserve(v + 1);
  return v;
}

void Trees::add_to(int v, int x) {
  if (leaf(x))
    statistics_->add(v, x);
  else
    statistics_->merge(v, x);
  node_[v].size += size(x);
  node_[v].changed = true;
  for (int r = 0; r < R_ && !q_.empty(); ++r) q_[static_cast<std::size_t>(v) * R_ + r] += q(x)[r];
}

int Trees::join(int a, int b) {
  const int v = fresh();
  node_[v] = {a, b, -1, 0, 0.0, 0.0, 0.0, false};
  node_[a].parent = node_[b].parent = v;
  gather(v);
  return v;
}

void Trees::gather(int v) {
  const int a = left(v), b = right(v);
  const int big = size(a) >= size(b) ? a : b, small = big == a ? b : a;
  statistics_->copy(v, big);
  node_[v].size = size(big);
  for (int r = 0; r < R_ && !q_.empty(); ++r) q_[static_cast<std::size_t>(v) * R_ + r] = q(big)[r];
  add_to(v, small);
  node_[v].changed = node_[a].changed || node_[b].changed;
  set_potentials(v);
}

// SeqInsert (2014, algorithm 2): beside c when d(l,r) is the least of d(l,r), d(l,x), d(r,x), else below the nearer child.
int Trees::insert(int root, int x) {
  int c = root, above = -1;
  bool on_left = false;
  while (!leaf(c)) {
    const int child[2] = {left(c), right(c)};
    double like[2];
    statistics_->log_marginal_merged(x, child, like);
    const double d_c = log_d(c);
    const double d_l = phi_t(x) + phi_t(child[0]) - weight_joined(x, child[0]) - like[0];
    const double d_r = phi_t(x) + phi_t(child[1]) - weight_joined(x, child[1]) - like[1];
    if (d_c <= d_l && d_c <= d_r) break;
    add_to(c, x);
    above = c;
    on_left = d_l <= d_r;
    c = on_left ? left(c) : right(c);
  }
  const int v = join(c, x);
  if (above < 0) return v;
  (on_left ? node_[above].left : node_[above].right) = v;
  node_[v].parent = above;
  for (int u = above; u >= 0; u = parent(u)) set_potentials(u);
  return root;
}

int Trees::detach(int row) {
  const int p = parent(row), sibling = left(p) == row ? right(p) : left(p), up = parent(p);
  node_[sibling].parent = up;
  node_[row].parent = -1;
  if (up >= 0) (left(up) == p ? node_[up].left : node_[up].right) = sibling;
  free_.push_back(p);
  int root = sibling;
  for (int u = up; u >= 0; u = parent(u)) {
    node_[u].size -= 1;
    node_[u].changed = true;
    for (int r = 0; r < R_ && !q_.empty(); ++r) q_[static_cast<std::size_t>(u) * R_ + r] -= q(row)[r];
    if (!statistics_->remove(u, row)) {
      statistics_->copy(u, left(u));
      statistics_->merge(u, right(u));
    }
    set_potentials(u);
    root = u;
  }
  return root;
}

void Trees::dissolve(int v) {
  node_[left(v)].parent = node_[right(v)].parent = -1;
  free_.push_back(v);
}

int Trees::copy(int root) {
  if (leaf(root)) return root;
  std::vector<int> nodes, twin(node_.size(), -1);
  collect(root, nodes);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const int v = *it;
    if (leaf(v)) continue;
    const int w = fresh();
    if (static_cast<int>(twin.size()) < static_cast<int>(node_.size())) twin.resize(node_.size(), -1);
    twin[v] = w;
    node_[w] = node_[v];
    statistics_->copy(w, v);
    for (int r = 0; r < R_ && !q_.empty(); ++r) q_[static_cast<std::size_t>(w) * R_ + r] = q(v)[r];
    for (int* child : {&node_[w].left, &node_[w].right}) {
      if (!leaf(*child)) *child = twin[*child];
      node_[*child].parent = w;
    }
  }
  node_[twin[root]].parent = -1;
  return twin[root];
}

void Trees::discard(int root) {
  std::vector<int> nodes;
  collect(root, nodes);
  for (int v : nodes)
    if (!leaf(v)) free_.push_back(v);
}

void Trees::claim(int root) {
  std::vector<int> nodes;
  collect(root, nodes);
  node_[root].parent = -1;
  for (int v : nodes)
    if (!leaf(v)) node_[left(v)].parent = node_[right(v)].parent = v;
}

void Trees::refresh(int root) {
  std::vector<int> nodes;
  collect(root, nodes);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) node_[*it].changed ? gather(*it) : weigh(*it);
}

void Trees::collect(int root, std::vector<int>& nodes) const {
  nodes.resize(2 * static_cast<std::size_t>(size(root)) - 1);
  int* end = nodes.data();
  *end++ = root;
  for (const int* at = nodes.data(); at != end; ++at) {
    if (leaf(*at)) continue;
    *end++ = left(*at);
    *end++ = right(*at);
  }
}

int Trees::root_of(int v) const {
  while (parent(v) >= 0) v = parent(v);
  return v;
}

}  // namespace hedgerow
