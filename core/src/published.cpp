// Global and local moves of published tgMCMC; equation numbers are those of Lee & Choi 2015.
#include "hedgerow/kernels/published.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {

double log_merge(double log_d) { return -log_add(0.0, log_d); }         // 1/(1+d)
double log_apart(double log_d) { return log_d - log_add(0.0, log_d); }  // d/(1+d)

}  // namespace

std::vector<std::string> Published::stat_names() const {
  return {"proposals", "splits", "splits_accepted", "merges_accepted", "log_r", "moved"};
}

void Published::stats(double* out) const {
  out[0] = proposals_;
  out[1] = splits_;
  out[2] = split_accepts_;
  out[3] = merge_accepts_;
  out[4] = proposals_ > 0 ? log_r_sum_ / proposals_ : std::nan("");
  gibbs_.stats(out + 5);
}

// Trees in postfix order: a row for a leaf, -1 to join the last two.
void Published::save(Carried& out) const {
  out.whole.push_back(trees_ != nullptr);
  if (!trees_) return;
  out.whole.insert(out.whole.end(), planted_.begin(), planted_.end());
  out.whole.push_back(static_cast<int>(roots_.size()));
  std::vector<int> pending, order;
  for (int root : roots_) {
    order.clear();
    pending.assign(1, root);
    while (!pending.empty()) {
      const int v = pending.back();
      pending.pop_back();
      order.push_back(trees_->leaf(v) ? v : -1);
      if (trees_->leaf(v)) continue;
      pending.push_back(trees_->left(v));
      pending.push_back(trees_->right(v));
    }
    out.whole.insert(out.whole.end(), order.rbegin(), order.rend());
  }
}

void Published::load(State& state, CarriedReader& in) {
  const std::size_t n = static_cast<std::size_t>(state.partition.rows());
  auto check = [](bool good) {
    if (!good) throw std::invalid_argument("a kernel's memory has trees that are none");
  };
  trees_.reset();
  roots_.clear();
  if (in.whole() == 0) return;
  planted_ = in.wholes(n);
  const int count = in.whole();
  check(count >= 1 && static_cast<std::size_t>(count) <= n);
  auto trees = std::make_unique<Trees>(state);
  std::vector<char> seen(n, 0);
  for (int word : in.wholes(2 * n - static_cast<std::size_t>(count))) {
    if (word >= 0) {
      check(static_cast<std::size_t>(word) < n && !seen[word]);
      seen[word] = 1;
      roots_.push_back(word);
      continue;
    }
    check(roots_.size() >= 2);
    const int right = roots_.back();
    roots_.pop_back();
    roots_.back() = trees->join(roots_.back(), right);
  }
  check(static_cast<int>(roots_.size()) == count);
  for (int c = 0; c < count; ++c) {
    trees->collect(roots_[c], nodes_);
    for (int v : nodes_) check(!trees->leaf(v) || planted_[v] == c);
  }
  trees_ = std::move(trees);
}

void Published::record(double log_r, bool accepted, bool was_split) {
  log_r_sum_ += log_r;
  ++proposals_;
  splits_ += was_split;
  if (accepted) ++(was_split ? split_accepts_ : merge_accepts_);
}

// Trees for a partition that came without any: members inserted one after the other.
void Published::plant(State& state) {
  Partition& partition = state.partition;
  trees_ = std::make_unique<Trees>(state);
  roots_.clear();
  for (int c = 0; c < partition.clusters(); ++c) {
    std::vector<int> rows = partition.members(c);
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[state.rng.index(static_cast<int>(i))]);
    int root = rows[0];
    for (std::size_t i = 1; i < rows.size(); ++i) root = trees_->insert(root, rows[i]);
    roots_.push_back(root);
  }
}

void Published::step(State& state) {
  log_r_sum_ = 0.0;
  proposals_ = splits_ = split_accepts_ = merge_accepts_ = 0;
  // Entries that are filled in are new in every iteration, and with them all statistics.
  if (!trees_ || planted_ != state.partition.labels() || !state.partition.likelihood().imputed_rows().empty())
    plant(state);
  else
    for (int root : roots_) trees_->refresh(root);
  for (int g = 0; g < global_moves_; ++g) global_move(state);
  local_moves(state);
  planted_ = state.partition.labels();
}

int Published::sample_sub(State& state, int root, bool inner_only, int wanted, double* log_p) {
  trees_->collect(root, nodes_);
  if (inner_only) std::erase_if(nodes_, [&](int v) { return trees_->leaf(v); });
  double most = -kInf;
  for (int v : nodes_) most = std::max(most, trees_->log_d(v));
  weights_.resize(nodes_.size());
  double total = 0.0;
  int at = -1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {  // (d + max d)/max d; a tree of one leaf has nothing to choose
    weights_[i] = most == -kInf ? 1.0 : 1.0 + std::exp(trees_->log_d(nodes_[i]) - most);
    total += weights_[i];
    if (nodes_[i] == wanted) at = static_cast<int>(i);
  }
  if (wanted < 0) at = draw_index(state.rng, weights_.data(), static_cast<int>(nodes_.size()), total);
  *log_p += std::log(weights_[at] / total);
  return nodes_[at];
}

void Published::global_move(State& state) {
  const int k = state.partition.clusters();
  const int c = state.rng.index(k);
  std::vector<int> others, with;
  for (int j = 0; j < k; ++j)
    if (j != c) others.push_back(roots_[j]);
  std::vector<double> d;
  trees_->log_d(roots_[c], others, d);
  double log_forward = -std::log(static_cast<double>(k));
  for (int j = 0, i = 0; j < k; ++j) {
    if (j == c) continue;
    const bool in = std::log(state.rng.uniform_open()) < log_merge(d[i]);
    log_forward += in ? log_merge(d[i]) : log_apart(d[i]);
    if (in) with.push_back(j);
    ++i;
  }
  if (!with.empty()) return merge(state, c, with, log_forward);
  if (state.partition.size(c) > 1) split(state, c, log_forward, d);
}

void Published::split(State& state, int c, double log_forward, const std::vector<double>&) {
  Partition& partition = state.partition;
  Trees& trees = *trees_;
  const int original = roots_[c], k = partition.clusters();
  const double phi_before = trees.phi_h(original);
  const int twin = trees.copy(original);
  const int v = sample_sub(state, twin, true, -1, &log_forward);
  // S = {l(v), r(v)}; what hangs off the path from v to the root is inserted again, from the bottom up.
  std::vector<int> parts{trees.left(v), trees.right(v)}, hanging, path;
  for (int u = v; u >= 0; u = trees.parent(u)) {
    path.push_back(u);
    const int up = trees.parent(u);
    if (up >= 0) hanging.push_back(trees.left(up) == u ? trees.right(up) : trees.left(up));
  }
  for (int u : path) trees.dissolve(u);
  std::vector<double> d, w;
  for (int piece : hanging) {  // StocInsert
    trees.log_d(piece, parts, d);
    w.assign(1, 0.0);
    for (double x : d) w.push_back(-x);
    const double total = log_sum(w.data(), static_cast<int>(w.size()));
    double left = state.rng.uniform();
    std::size_t chosen = 0;
    for (; chosen + 1 < w.size(); ++chosen)
      if ((left -= std::exp(w[chosen] - total)) < 0.0) break;
    log_forward += w[chosen] - total;
    if (chosen == 0)
      parts.push_back(piece);
    else
      parts[chosen - 1] = trees.insert(parts[chosen - 1], piece);
  }
  // The way back (eq. 11): any part may be picked, the others must then be the set to merge with.
  std::vector<int> all = parts;
  for (int j = 0; j < k; ++j)
    if (j != c) all.push_back(roots_[j]);
  const double log_k = std::log(static_cast<double>(all.size()));
  double log_back = -kInf;
  for (std::size_t a = 0; a < parts.size(); ++a) {
    trees.log_d(parts[a], all, d);
    double term = -log_k;
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (b == a) continue;
      term += b < parts.size() ? log_merge(d[b]) : log_apart(d[b]);
    }
    log_back = log_add(log_back, term);
  }
  double phi_after = 0.0;
  for (int part : parts) phi_after += trees.phi_h(part);
  const double log_r = phi_after - phi_before + log_back - log_forward;
  const bool accepted = std::log(state.rng.uniform_open()) < log_r;
  record(log_r, accepted, true);
  if (!accepted) {
    for (int part : parts) trees.discard(part);
    trees.claim(original);
    return;
  }
  trees.discard(original);
  for (int part : parts) trees.claim(part);
  roots_[c] = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    trees.collect(parts[i], nodes_);
    std::erase_if(nodes_, [&](int u) { return !trees.leaf(u); });
    partition.split(c, nodes_);
    roots_.push_back(parts[i]);
  }
}

void Published::merge(State& state, int c, const std::vector<int>& with, double log_forward) {
  Partition& partition = state.partition;
  Trees& trees = *trees_;
  const int k = partition.clusters();
  double phi_before = trees.phi_h(roots_[c]);
  std::vector<int> inserted{roots_[c]}, made;
  double log_stoc = 0.0;
  int top = roots_[c];
  for (std::size_t i = 0; i < with.size(); ++i) {  // a cascade, in the order of their numbers
    const int other = roots_[with[i]];
    phi_before += trees.phi_h(other);
    if (i > 0) {  // eq. 12: the piece must have opened a cluster of its own
      std::vector<double> d, w{0.0};
      trees.log_d(other, inserted, d);
      for (double x : d) w.push_back(-x);
      log_stoc -= log_sum(w.data(), static_cast<int>(w.size()));
    }
    inserted.push_back(other);
    top = trees.join(top, other);
    made.push_back(top);
  }
  double log_back = -std::log(static_cast<double>(k - static_cast<int>(with.size()))) + log_stoc;
  std::vector<int> rest;
  for (int j = 0; j < k; ++j)
    if (j != c && std::find(with.begin(), with.end(), j) == with.end()) rest.push_back(roots_[j]);
  std::vector<double> d;
  trees.log_d(top, rest, d);
  for (double x : d) log_back += log_apart(x);
  sample_sub(state, top, true, made[0], &log_back);
  const double log_r = trees.phi_h(top) - phi_before + log_back - log_forward;
  const bool accepted = std::log(state.rng.uniform_open()) < log_r;
  record(log_r, accepted, false);
  if (!accepted) {
    for (auto it = made.rbegin(); it != made.rend(); ++it) trees.dissolve(*it);
    return;
  }
  const int anchor = partition.members(c)[0];
  std::vector<int> anchors;
  for (int j : with) anchors.push_back(partition.members(j)[0]);
  for (int row : anchors) {
    const int b = partition.label(row);
    partition.join(partition.label(anchor), b);
    roots_[b] = roots_.back();
    roots_.pop_back();
  }
  roots_[partition.label(anchor)] = top;
}

void Published::local_moves(State& state) {
  Partition& partition = state.partition;
  Trees& trees = *trees_;
  std::vector<int> rows;
  for (int root : roots_) {
    int v = root;
    double unused = 0.0;
    for (int i = 0; i < depth_; ++i) v = sample_sub(state, v, false, -1, &unused);
    trees.collect(v, nodes_);
    for (int u : nodes_)
      if (trees.leaf(u)) rows.push_back(u);
  }
  gibbs_.rest();
  gibbs_.begin(state);
  for (int row : rows) {
    const int own = partition.label(row), k = partition.clusters();
    const int chosen = gibbs_.draw(state, row);
    if (chosen == own) continue;
    const bool alone = partition.size(own) == 1;
    if (!alone) roots_[own] = trees.detach(row);
    if (chosen == k)
      roots_.push_back(row);
    else
      roots_[chosen] = trees.insert(roots_[chosen], row);
    gibbs_.move(state, row, chosen);
    if (alone) {
      roots_[own] = roots_.back();
      roots_.pop_back();
    }
  }
}

}  // namespace hedgerow
