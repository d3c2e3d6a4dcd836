// Binary trees over disjoint sets of rows, with the potentials of Bayesian hierarchical clustering.
//
// A node c with children l, r has φ_h(c) = weight(|c|)·p(X_c), φ_t(c) = φ_h(c) + φ_t(l)·φ_t(r) and
// d(c) = φ_t(l)·φ_t(r)/φ_h(c) (Lee & Choi 2014 eq. 27–31). Stored are log p(X_c), which no hyper-parameter changes, and
// the slack log(φ_t/φ_h) = log(1 + d), which is nothing where a set is certainly one cluster.
#pragma once

#include <climits>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/join_panel.hpp"
#include "hedgerow/likelihood.hpp"
#include "hedgerow/measure.hpp"
#include "hedgerow/paged.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

// A tree by its top: inner node i >= 0, or the leaf of row r as ~r.
using Ref = int;
inline constexpr Ref kNoRef = INT_MIN;

// log(1 + e^x); below −40 nothing is left of it next to any potential.
inline double softplus(double x) {
  if (x < -40.0) return 0.0;
  return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// Which rows touch, as a symmetric CSR pattern; with it, only touching sets may be joined.
struct Adjacency {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
};

// The forest as plain arrays: leaves first, then inner nodes with children before parents; -1 where there is none.
struct ForestArrays {
  std::vector<std::int32_t> left, right, parent, size;
  std::vector<double> log_phi_h, log_phi_t, log_d;
};

class Forest {
 public:
  // `groups` maps rows to groups of the measure and may be empty when there is one. Both references outlive the forest.
  Forest(const Likelihood& likelihood, const Measure& measure, std::vector<int> groups);
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  const Likelihood& likelihood() const { return likelihood_; }
  const Measure& measure() const { return measure_; }

  // Trees.
  bool splittable(Ref a) const { return a >= 0 && inner_[a].left != kNoRef; }
  Ref left(int c) const { return inner_[c].left; }
  Ref right(int c) const { return inner_[c].right; }
  int parent(Ref a) const { return a >= 0 ? inner_[a].parent : leaf_parent_[~a]; }  // inner node; ~position of a root; kNoRef
  int size(Ref a) const { return a >= 0 ? inner_[a].size : 1; }
  int leaf_count(Ref a) const { return a >= 0 ? inner_[a].leaves : 1; }  // a summary of many rows is one leaf
  double log_like(Ref a) const { return a >= 0 ? inner_[a].log_like : likelihood_.log_single()[~a]; }
  double slack(Ref a) const { return a >= 0 ? inner_[a].slack : 0.0; }
  double weight(Ref a) const {
    if (plain_) return kappa(size(a));
    if (a < 0) return measure_.log_new(group(~a));
    return std::isnan(weight_[a]) ? weight_[a] = weight_of(a) : weight_[a];
  }
  double joined_weight(Ref a, Ref b) const { return plain_ ? kappa(size(a) + size(b)) : mixed_weight(a, b); }
  const double* log_q(Ref a) const;  // R sums of log q; null when there is one measure and nothing to sum
  double phi_h(Ref a) const { return weight(a) + log_like(a); }
  double phi_t(Ref a) const { return phi_h(a) + slack(a); }
  // d > 1: better apart than as one cluster.
  bool discordant(Ref c) const { return slack(c) > kLog2; }
  double log_d(Ref c) const { return splittable(c) ? phi_t(left(c)) + phi_t(right(c)) - phi_h(c) : -kInf; }
  int sibling(int p, Ref a) const { return inner_[p].left == a ? inner_[p].right : inner_[p].left; }
  int inner_nodes() const { return static_cast<int>(inner_.size() - free_.size()) - kScratch; }

  // Memory is far away in a large forest: what a descent through c will read next.
  void prefetch_children(Ref c) const {
    if (!splittable(c)) return;
    for (Ref a : {inner_[c].left, inner_[c].right}) {
      if (a < 0) continue;
      __builtin_prefetch(&inner_[a]);
      nodes_->prefetch(a);
    }
  }

  // log p of the union of two disjoint trees; and of both children of c with x.
  double joint(Ref a, Ref x);
  void joint_children(int c, Ref x, double* with_left, double* with_right);

  // A new tree (a, b) where a was: a root's place, below a parent, or nowhere.
  // `weight` is its log weight where that is known.
  int join(Ref a, Ref b, double weight = kUnknown);
  // x is about to be put somewhere below c, which then has this log weight.
  void absorb(int c, Ref x, double weight = kUnknown);
  void refresh_slack(int c) { inner_[c].slack = softplus(log_d(c)); }
  // c = (big, small) leaves the tree and its child `keep` takes its place; the other child is detached.
  void splice(int c, Ref keep);
  // p = (c, s), c = (a, b) becomes p = ((s, a), b), with c standing for the new pair.
  void rotate(int c, Ref a, double log_like_pair);
  // Takes one row out of the forest; what is left of its tree keeps its shape. Returns its former sibling, kNoRef when the
  // row was a root of its own.
  Ref take_out(int row);
  // Takes a tree apart: its two children become detached.
  void split(int c);
  // c forgets its children and stays as a leaf with its statistics; their rows are appended to `rows`, summary leaves that
  // vanish in it to `leaves`.
  void fold(int c, std::vector<int>& rows, std::vector<int>& leaves);
  void count_leaves();  // once everything is folded
  // The largest subtrees of at most `largest` points below a node that is certainly one cluster (or below any root); and how
  // many nodes would be left if they were folded.
  int foldable(int largest, bool certain_only, std::vector<Ref>& out) const;

  // Roots.
  int roots() const { return static_cast<int>(roots_.size()); }
  Ref root(int k) const { return roots_[k]; }
  int tag(int k) const { return tags_[k]; }
  void set_tag(int k, int tag) { tags_[k] = tag; }
  int add_root(Ref x, int tag);
  void remove_root(int k);  // the last root takes its position
  // Call after root k's tree has changed; `added` names the row when one row was all that was added.
  void sync_root(int k, int added = -1);
  int root_of(Ref a) const;

  // Root of least d to the detached tree x, -1 when there is none (or none touches x); its log d.
  int nearest(Ref x, double* log_d);
  // Whether a row would go back to the root it is in if it were taken out.
  bool stays(int row);
  // Of these rows, all of which are in the forest, those that would not.
  void movers(std::span<const int> rows, std::vector<int>& out);
  // log p(X_root ∪ X_x) of roots 0..k-1 (the entry of x itself, if it is a root, is meaningless); out padded to 8.
  void joint_front(Ref x, int k, double* out);

  // Connectivity: marks what the detached tree x touches; touches() answers for the tree marked last.
  void set_adjacency(const Adjacency* adjacency) { adjacency_ = adjacency; }
  const Adjacency* adjacency() const { return adjacency_; }
  void mark_touched(Ref x);
  bool touches(Ref a) const { return adjacency_ == nullptr || stamp_of(a) == stamp_; }

  // Must be called when hyper-parameters have changed: all slacks anew, or those near the roots only, stopping where d is beyond notice.
  void refresh(bool everything);

  // The state of what is below.
  void clear();
  void grow();  // the likelihood has more rows now
  void set_group(int row, int group);
  int group(int row) const { return groups_.empty() ? 0 : groups_[row]; }
  void leaves(Ref a, std::vector<int>& rows) const;
  // Raw label = position of the root; -1 for rows outside.
  void labels(std::vector<int>& out) const;
  void cluster_sizes(std::vector<int>& sizes, std::vector<double>& log_q) const;
  double log_joint() { return log_joint(measure_); }
  double log_joint(const Measure& measure);
  // Leaves are numbered by `leaf_id` (row -> id, n of them), summary leaves follow in the order met and are listed.
  ForestArrays arrays(const std::vector<int>& leaf_id, int n, std::vector<int>* summaries = nullptr);
  double mean_depth() const;

  Statistics& statistics() { return *nodes_; }
  Statistics& panel() { return *panel_; }
  std::int64_t evaluations() const { return evaluations_; }

  // Files: every array of the state; statistics are packed per inner node.
  struct Inner {
    Ref left, right;
    int parent, size, leaves;
    double log_like, slack;
  };
  const PagedVector<Inner>& inner() const { return inner_; }
  const std::vector<int>& free_list() const { return free_; }
  const std::vector<double>& all_log_q() const { return log_q_; }
  // Statistics must be unpacked into the slots first. Links upwards are made here; the caller has checked those downwards.
  void restore(PagedVector<Inner> inner, std::vector<int> free_nodes, std::vector<double> log_q, const std::vector<Ref>& roots,
               const std::vector<int>& tags);
  void resync_roots();
  // The trees as they are, without statistics, and back to them: those are summed anew from the rows. No summary leaves.
  struct Shape {
    PagedVector<Inner> inner;
    std::vector<int> free_nodes, tags;
    std::vector<Ref> roots;
    std::vector<double> log_q;
  };
  Shape shape() const { return {inner_, free_, tags_, roots_, log_q_}; }
  void reshape(Shape shape);
  // Whether every node's statistics are those of its children together, as far as log p(X_c) can tell.
  bool consistent();
  static constexpr int kScratch = 2;  // slots 0 and 1 never hold a node

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kLog2 = 0.693147180559945309;
  // log κ(m) from tables of this forest's own: it is asked for several times at every node of every path. Hyper-parameters change with
  // every batch of a stream, so the tables are short and filled in as they are asked for; larger m take the places of others.
  static constexpr int kFewKappa = 4096;
  double kappa(int m) const {
    if (m < static_cast<int>(kappa_.size()) && !std::isnan(kappa_[m])) return kappa_[m];
    if (m >= kFewKappa && !far_kappa_.empty() && far_kappa_[m % kFewKappa].m == m) return far_kappa_[m % kFewKappa].value;
    return find_kappa(m);
  }
  void forget_kappa() const {
    kappa_.clear();
    far_kappa_.clear();
  }
  double find_kappa(int m) const;
  double mixed_weight(Ref a, Ref b) const;
  int fresh();
  void release(int c);
  void set_parent(Ref a, int p) { (a >= 0 ? inner_[a].parent : leaf_parent_[~a]) = p; }
  void put_in_place_of(Ref a, Ref by);
  void fill(int slot, Ref a);  // statistics of a in a slot
  void put(int slot, Ref a);   // statistics of a added to a slot
  void load_weights(int k);
  void scan(int row);
  double weight_step(int k, int t) const;
  bool stays(int row, int own, double step);
  void reserve_roots(int k);
  bool stamped(Ref a) const { return stamp_of(a) == stamp_; }
  unsigned stamp_of(Ref a) const { return a >= 0 ? inner_stamp_[a] : leaf_stamp_[~a]; }
  double weight_of(int c) const;
  template <class Visit>
  void walk(Ref a, const Visit& visit) const;

  const Likelihood& likelihood_;
  const Measure& measure_;
  std::vector<int> groups_;
  bool plain_;
  int R_;
  std::unique_ptr<Statistics> nodes_, panel_;
  PagedVector<Inner> inner_;
  PagedVector<int> leaf_parent_;
  std::vector<int> free_;
  std::vector<double> log_q_;           // mixed only: R values per inner node
  mutable std::vector<double> weight_;  // and one value, unknown until it is asked for
  mutable std::vector<double> kappa_;   // plain only
  struct Known {
    int m = -1;
    double value = 0.0;
  };
  mutable std::vector<Known> far_kappa_;

  std::vector<Ref> roots_;
  std::vector<int> tags_, front_;
  AlignedVector<double> out_;
  JoinPanel join_;  // of the roots: (m − σ)·φ_h/φ_t

  const Adjacency* adjacency_ = nullptr;
  std::vector<unsigned> inner_stamp_, leaf_stamp_;
  unsigned stamp_ = 0;
  std::vector<int> touched_roots_, touched_rows_;
  std::int64_t evaluations_ = 0;
};

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

}  // namespace hedgerow
