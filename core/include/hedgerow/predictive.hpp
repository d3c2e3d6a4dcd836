// Where new rows would go, given one draw of the partition, and how likely the old ones are.
#pragma once

#include <memory>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/kernel.hpp"

namespace hedgerow {

// One draw, asked about rows n_old.. of the likelihood, which are new: log[weight × density] of each for every cluster of `state`
// and a new one. The exponentials of a row sum to its predictive density, with ξ over several groups on average over draws.
// Statistics are kept once for every thread; the state must outlive this.
class Foresight {
 public:
  Foresight(State& state, int n_old, int threads);
  int rows() const { return likelihood_.rows() - n_old_; }
  int clusters() const { return k_; }

  // How the clusters of the draw lie on those of a partition of K: for cluster c, entries start[c].. to start[c + 1] say which of the
  // partition's and what share of its rows.
  struct Overlap {
    const std::int32_t *start, *cluster;
    const double* share;
    int width;  // K
  };
  // Of every new row over the draws so far, on a scale of exp(top): sums of weights with each of the K clusters (rows × K), with none,
  // and of all.
  struct Company {
    double *top, *with, *alone, *all;
  };
  void weights(const std::vector<int>& groups, double* out);            // (rows × (K + 1))
  void add_density(const std::vector<int>& groups, double* log_total);  // adds the densities of the rows to exp(log_total)
  void add_company(const std::vector<int>& groups, const Overlap& overlap, const Company& company);

 private:
  // The row's log weights, in the place of thread t.
  const double* look(int t, int i, const std::vector<int>& groups);
  struct Thread {
    std::unique_ptr<Statistics> own;  // but of the first, which has the partition's
    Statistics* statistics;
    NextPoint next;
    AlignedVector<double> density;
  };
  const Likelihood& likelihood_;
  int n_old_, k_;
  std::vector<char> gaps_;  // of new rows
  std::vector<Thread> threads_;
};

// log p(x | the other rows, and their partition in `state`) of every row, (n): the row counts neither in the weight nor in the
// density of its own cluster, and what it has alone is not there without it.
void left_out(State& state, int threads, double* out);

// The same from sizes and statistics of all clusters, wherever their rows are: every row of the likelihood is new (its slot K must be
// there), or is one of those that were counted, under its label.
void predictive(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
                double* out);
void left_out(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
              const std::vector<int>& labels, double* out);

}  // namespace hedgerow
