// Tree-guided MCMC as published (Lee & Choi 2015 with its supplement), to the letter. It does not leave the posterior
// invariant: see the Python class for the measured bias. A mode finder, not a sampler.
#pragma once

#include <memory>

#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

// Binary trees over rows with the potentials of BHC; node ids 0..n-1 are rows, the rest inner nodes.
class Trees {
 public:
  explicit Trees(State& state);

  bool leaf(int v) const { return v < n_; }
  int left(int v) const { return node_[v].left; }
  int right(int v) const { return node_[v].right; }
  int parent(int v) const { return node_[v].parent; }
  int size(int v) const { return node_[v].size; }
  double phi_h(int v) const { return node_[v].phi_h; }
  double phi_t(int v) const { return node_[v].phi_t; }
  double log_d(int v) const { return leaf(v) ? -kInf : phi_t(left(v)) + phi_t(right(v)) - phi_h(v); }

  // log d of a detached tree against others.
  void log_d(int a, const std::vector<int>& others, std::vector<double>& out);

  int join(int a, int b);       // a new root over two roots
  int insert(int root, int x);  // SeqInsert without cutting; the new root
  int detach(int row);          // takes a leaf out; the root of what is left (the tree must have two leaves or more)
  void dissolve(int v);         // frees an inner node; its children become roots
  int copy(int root);           // the same tree with inner nodes of its own
  void discard(int root);       // frees the inner nodes of a copy that is not wanted
  void claim(int root);         // makes leaves point into this tree again
  // All potentials, after the hyper-parameters moved. Statistics that rows were added to or taken from are first made anew from
  // those of the children, so that they are a function of the tree alone, however it was reached.
  void refresh(int root);
  void collect(int root, std::vector<int>& nodes) const;  // every node, parents first
  int root_of(int v) const;

 private:
  struct Node {
    int left = -1, right = -1, parent = -1, size = 1;
    double log_like = 0.0, phi_h = 0.0, phi_t = 0.0;
    bool changed = false;  // the statistics are not those `gather` makes
  };
  int fresh();
  void set_potentials(int v);  // from the statistics
  void weigh(int v);           // from the likelihood known, under the present hyper-parameters
  void gather(int v);          // everything of v from its children
  void add_to(int v, int x);   // statistics and size of v take in x
  double weight_joined(int a, int b) const;
  const double* q(int v) const { return q_.empty() ? nullptr : &q_[static_cast<std::size_t>(v) * R_]; }

  State& state_;
  int n_, R_;
  std::vector<Node> node_;
  std::vector<int> free_;
  std::vector<double> q_;
  std::unique_ptr<Statistics> statistics_;  // slot = node
};

class Published final : public Kernel {
 public:
  Published(int global_moves, int depth) : global_moves_(global_moves), depth_(depth) {}
  void step(State& state) override;
  std::vector<std::string> stat_names() const override;
  void stats(double* out) const override;
  void save(Carried& out) const override;  // the trees, and the labels they stand for
  void load(State& state, CarriedReader& in) override;

 private:
  void plant(State& state);
  void global_move(State& state);
  void split(State& state, int c, double log_forward, const std::vector<double>& d);
  void merge(State& state, int c, const std::vector<int>& with, double log_forward);
  void local_moves(State& state);
  // A node of the tree with weight d + max d; its log probability. With `wanted` that node is not drawn but scored.
  int sample_sub(State& state, int root, bool inner_only, int wanted, double* log_p);
  void record(double log_r, bool accepted, bool was_split);

  int global_moves_, depth_;
  Gibbs gibbs_;
  std::unique_ptr<Trees> trees_;
  std::vector<int> roots_;    // by slot of the partition
  std::vector<int> planted_;  // labels the trees stand for
  std::vector<int> nodes_;
  std::vector<double> weights_;
  double log_r_sum_ = 0.0;
  int proposals_ = 0, splits_ = 0, split_accepts_ = 0, merge_accepts_ = 0;
};

}  // namespace hedgerow
