// A partition of the rows with the statistics of its clusters, kept in slots 0..K-1.
#pragma once

#include <memory>
#include <vector>

#include "hedgerow/likelihood.hpp"
#include "hedgerow/measure.hpp"

namespace hedgerow {

class Partition {
 public:
  // `groups` maps rows to groups of the measure and may be empty when there is one.
  Partition(const Likelihood& likelihood, const Measure& measure, std::vector<int> groups);

  // Raw labels, 0..K-1 each used (-1: the row is not in yet); slots keep this numbering. The state of a chain is these labels: everything else is
  // rebuilt from them, in row order, so that a resumed chain is the same chain to the last bit.
  void assign(const std::vector<int>& labels);
  void rebuild();

  int rows() const { return static_cast<int>(label_.size()); }
  int clusters() const { return k_; }
  int label(int row) const { return label_[row]; }
  const std::vector<int>& labels() const { return label_; }
  int size(int c) const { return sizes_[c]; }
  const std::vector<int>& sizes() const { return sizes_; }
  const std::vector<int>& members(int c) const { return members_[c]; }
  const std::vector<int>& groups() const { return groups_; }
  int group(int row) const { return groups_.empty() ? 0 : groups_[row]; }
  // Σ log q over the members, R values per cluster; empty when q is trivially 1.
  const std::vector<double>& log_q() const { return log_q_; }
  const double* log_q(int c) const { return log_q_.empty() ? nullptr : log_q_.data() + static_cast<std::size_t>(c) * R_; }
  Statistics& statistics() { return *statistics_; }
  const Likelihood& likelihood() const { return likelihood_; }

  // A slot outside the partition for proposals; valid until the next change of the partition.
  int scratch(int i);

  struct Moved {
    int from;       // slot that lost the row; if its cluster vanished, the last cluster now lives there (if from < K)
    int to;         // slot of the row now
    bool vanished;  // the cluster the row left had no other row
  };
  Moved move(int row, int to);   // to == clusters() opens a new one
  void insert(int row, int to);  // a row that was outside (label -1)
  void take_out(int row);        // and out; if its cluster vanishes, the last one takes its slot

  // Replaces cluster c by two (rows with side[i] true leave to a new slot K), or joins b into a.
  void split(int c, const std::vector<int>& leaving);
  void join(int a, int b);

  double log_likelihood();  // Σ_c log p(X_c)

 private:
  void place(int row, int c);
  void seat(int row, int c);   // the same but for the statistics
  void leave(int c, int row);  // the lists of rows and sizes; statistics are the caller's
  void unplace(int row);
  void open(int c);
  void close(int c);  // removes an empty cluster; the last one takes its slot
  void rebuild_cluster(int c);
  void add_q(int c, int row, double sign);

  const Likelihood& likelihood_;
  const Measure& measure_;
  std::vector<int> groups_;
  int R_;
  bool plain_;
  int k_ = 0;
  std::vector<int> label_, position_, sizes_;
  std::vector<std::vector<int>> members_;
  std::vector<double> log_q_;
  std::unique_ptr<Statistics> statistics_;
};

// First-appearance numbering.
void canonical_labels(const std::vector<int>& raw, int* out);

}  // namespace hedgerow
