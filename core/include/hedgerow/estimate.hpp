// Greedy search for the partition of least expected loss over draws of partitions (SALSO: Dahl, Johnson & Müller 2022).
//
// With n_ab the rows shared by cluster a of one partition and b of another, the losses are made of sums of a function of
// counts: f(x) = x log x for the variation of information, x² for Binder's loss and the adjusted Rand index, and others that
// curve upwards, as `LOSSES` (hedgerow/summaries/distances.py) has them. A point stands
// for one row or for several that no draw takes apart. The state is the estimate's labels and, for every cluster l of every
// draw d (a "row" of the table), how many rows it shares with each cluster k of the estimate (a "column"). Putting a point of
// m rows into column k changes the loss by
//
//     sums of f    b g(n_k) − 2 Σ_d w_d g(n_dk)     g(x) = f(x + m) − f(x) − f(m), up to a constant of the point
//     adjusted     through Σ_d w_d ARI_d, whose sums of pairs grow by m n_k and m n_dk
//
// with b = 1 for the plain losses: below 1, joining what the draws take apart costs less than taking apart what they join.
// g(0) = 0, so only what is there has to be summed: rows of the table are short lists. A column that shares nothing with the
// point in any draw is never better than an empty one, for any of the three.
//
// The number of clusters can be kept between limits: no move opens a cluster too many or closes one too many.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hedgerow/narrow_labels.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

// Clusters of labels 0, ..., n - 1; throws on others.
int clusters_of(const std::int32_t* labels, int n);

// Σ_ab f(n_ab) of one partition against each of many draws, with `copies` rows behind every point.
class JointSums {
 public:
  JointSums(const NarrowLabels& draws, const std::int64_t* copies, const double* f);
  void run(const std::int32_t* partition, int first_draw, int last_draw, double* out);

 private:
  template <class Label>
  double by_table(const std::int32_t* partition, int left, const Label* draw, int right);
  template <class Label>
  double by_cluster(const Label* draw);

  NarrowLabels draws_;
  int n_points_;
  const std::int64_t* copies_;
  const double* f_;
  std::vector<int> clusters_;  // of every draw
  std::vector<std::int64_t> counts_;
  std::vector<int> order_, start_;  // points by their cluster in the partition
};

class PartitionSearch {
 public:
  PartitionSearch(const NarrowLabels& draws, const std::int64_t* copies, const double* weights, const double* f, bool adjusted,
                  double joining = 1.0);  // f(0), ..., f(rows); adjusted: one minus adjusted Rand

  int points() const { return n_points_; }
  int clusters() const { return occupied_; }
  const std::vector<int>& labels() const { return labels_; }

  void load(const std::int32_t* labels);
  // From here on the number of clusters stays between the two, once it is there.
  void limit(int least, int most);
  // From here on no sweep moves these points; rebuilding clusters may.
  void hold(const std::int32_t* points, int count);
  // Joins the two clusters that cost least, again and again, until there are `most`. Very many are first thinned out: points of
  // the smallest go where they are best. omari is stood in for by Binder's loss.
  void join_down(int most);
  // Every point where it is best among those already placed, in the order in which a random order of all rows meets them.
  void allocate(Rng& rng);
  // Sweeps until no point moves; then dissolves `zealous` whole clusters and rebuilds them, keeping what helps.
  void descend(Rng& rng, int max_sweeps, int zealous);
  // Ends the descents of this search and of all its copies soon, each where it is; from any thread.
  void stop() { stopped_->store(true, std::memory_order_relaxed); }

 private:
  struct Entry {
    std::int32_t column;
    std::int32_t count;
    double gain;  // weighted g(count) of a point of one row
  };
  struct Choice {
    int column;
    double gain;    // how much better than where the point is; for a point that is out, than alone
    double margin;  // how much worse the best of the other places is than where the point is
  };

  const std::int32_t* cells(int point) const { return cells_->data() + static_cast<std::size_t>(point) * n_draws_; }
  static double g(double f_sum, double f_x, double f_m) { return f_sum - f_x - f_m; }
  void clear();
  int free_column();
  bool allowed(int column, int own, bool alone) const;
  Choice best(int point);
  void thin_out(int most);
  void count_pairs(const std::vector<Entry>& row, double weight, int only, std::vector<double>& shared, double sign) const;
  void met_separable(int point);
  void met_adjusted(int point, int open);
  void weigh_pairs(int column, int own, std::int64_t m);
  void shift(int point, int column, int sign);
  void place(int point, int column) { shift(point, column, +1); }
  void take_out(int point) { shift(point, labels_[point], -1); }
  void place_all(const std::vector<int>& order);
  int sweep(const std::vector<int>& points, Rng& rng, std::vector<double>& margins);
  void sweep_to_rest(Rng& rng, int max_sweeps);
  bool rebuild(int column, Rng& rng);
  void close_gaps();
  double one_minus_rand() const;
  void random_order(std::vector<int>& points, Rng& rng) const;

  bool stopped() const { return stopped_->load(std::memory_order_relaxed); }

  std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
  int n_draws_, n_points_;
  std::int64_t n_rows_ = 0;
  bool adjusted_;
  double joining_;
  int least_ = 1, most_ = INT32_MAX, occupied_ = 0, widest_draw_ = 1;
  std::vector<std::int64_t> copies_;
  std::vector<double> weights_, f_;
  std::shared_ptr<const std::vector<std::int32_t>> cells_;  // row of the table of every point in every draw, point by point; 0 for
                                                            // a point alone. Copies of a search share it.
  std::size_t n_cells_ = 1;
  std::shared_ptr<const std::vector<double>> cell_weights_;  // of the draw of every row of the table

  std::vector<char> held_;  // of every point, or empty
  std::vector<int> labels_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::vector<Entry>> table_;
  std::vector<double> score_;  // by column, of the point looked at
  double own_score_ = 0.0;
  double change_ = 0.0;  // of the loss, by all shifts since it was set to zero; not for omari
  int open_ = 0;         // a column that was empty when last looked at

  // omari: sums of pairs; for the point looked at, columns that it meets and rows shared there by draw; what a joint pair is
  // worth by column and draw to a point of so many copies in such a column
  double all_pairs_ = 0.0, own_pairs_ = 0.0, pairs_within_ = 0.0;
  std::vector<double> draw_pairs_, joint_pairs_, shared_, left_, worth_, rest_;
  std::vector<int> met_, slot_;
  std::vector<char> weighed_;
  std::int64_t version_ = 0, weighed_version_ = -1, weighed_copies_ = -1;
  int weighed_column_ = -2;
};

}  // namespace hedgerow
