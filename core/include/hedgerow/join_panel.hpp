// What one more point weighs in each of many clusters: the one panel of their basis measures, and predictive weights made of it.
#pragma once

#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/measure.hpp"

namespace hedgerow {

// Log prior weights of joining each cluster, for one point against all clusters at once: log(m − σ) and what the basis measures say,
// each cluster's side by side.
class JoinPanel {
 public:
  explicit JoinPanel(const Measure& measure);
  void reserve(int clusters);  // what is there is kept
  // Cluster c has m points with the mixing sums lq; `less` is taken off its log weight.
  void put(int c, int m, const double* lq, double less = 0.0);
  // The same with its basis measure drawn rather than summed out.
  void put_drawn(int c, int m, int basis);
  // out[j] += log weight of a point of group t joining cluster j < k; out padded to a multiple of 8.
  void add_to(int t, int k, double* out) const;
  // The same for whoever wants the highest of them only: what cannot be it may be −∞.
  void add_to_highest(int t, int k, double* out) const;

 private:
  // Where the shares of a cluster lie, the sum of those outside, and log[factor × sum of all].
  struct Band {
    int first = 0, end = 0;
    double unseen = 0.0, log_all = 0.0;
  };
  void put_shares(int c, double factor);
  double weighed(int c, int t, double most) const;

  const Measure* measure_;
  bool plain_, wide_;
  std::vector<double> log_size_;        // plain: log(m − σ) + shift
  std::vector<double> share_, factor_;  // mixed: P(z = r) times what is common to all groups, by basis measure or by cluster; m − σ
  std::vector<double> own_;             // P(z = r) of one cluster
  std::vector<Band> band_;              // of a cluster's row, where basis measures are many
  // What they add up to for the group asked for last, but for clusters put in since: rows of a group often come one after another.
  mutable AlignedVector<double> total_;
  mutable std::vector<char> known_;
  mutable int asked_ = -1;
  int stride_ = 0;
};

// Log weights of the next point, in each of K clusters and in a new one. Those of the plain measure have u integrated out and sum to 1.
// Those of a mixed measure are made for one draw of ξ: p(Π with the point) = ∫ p(Π, ξ) · ξ_t/n_t · weight(ξ) dξ, so they sum to 1
// on average over draws. Who has one draw and no average asks for them `normalised`.
class NextPoint {
 public:
  NextPoint(const Measure& measure, const std::vector<int>& sizes, const std::vector<double>& log_q, bool normalised);
  void add_to(int t, double* out);  // K + 1 of them

 private:
  const Measure& measure_;
  JoinPanel panel_;
  int k_;
  bool normalised_;
  std::vector<double> plain_;
  AlignedVector<double> mixed_;
};

}  // namespace hedgerow
