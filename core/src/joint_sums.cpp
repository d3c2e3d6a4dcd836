// Sums over the joint clusters of a partition with draws.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "hedgerow/estimate.hpp"

namespace hedgerow {

namespace {

constexpr std::int64_t kTable = 1 << 14;  // cells, at most, of a contingency table that is counted directly

}  // namespace

int clusters_of(const std::int32_t* labels, int n) {
  int top = -1;
  for (int i = 0; i < n; ++i) {
    if (labels[i] < 0 || labels[i] >= n) throw std::invalid_argument("labels must lie in 0, ..., points - 1");
    top = std::max(top, static_cast<int>(labels[i]));
  }
  return top + 1;
}

JointSums::JointSums(const NarrowLabels& draws, const std::int64_t* copies, const double* f)
    : draws_(draws), n_points_(draws.points), copies_(copies), f_(f), clusters_(draws.draws) {
  for (int d = 0; d < draws.draws; ++d) clusters_[d] = clusters_of(draws, d);
}

void JointSums::run(const std::int32_t* partition, int first_draw, int last_draw, double* out) {
  const int left = clusters_of(partition, n_points_);
  bool sorted = false;
  for (int d = first_draw; d < last_draw; ++d) {
    const std::int64_t cells = static_cast<std::int64_t>(left) * clusters_[d];
    if (cells <= kTable && cells <= 2 * static_cast<std::int64_t>(n_points_)) {
      out[d - first_draw] = draws_.with(d, [&](const auto* draw) { return by_table(partition, left, draw, clusters_[d]); });
      continue;
    }
    if (!sorted) {
      start_.assign(left + 1, 0);
      for (int i = 0; i < n_points_; ++i) ++start_[partition[i] + 1];
      std::partial_sum(start_.begin(), start_.end(), start_.begin());
      std::vector<int> next(start_.begin(), start_.end() - 1);
      order_.resize(n_points_);
      for (int i = 0; i < n_points_; ++i) order_[next[partition[i]]++] = i;
      sorted = true;
    }
    if (static_cast<int>(counts_.size()) < clusters_[d]) counts_.assign(clusters_[d], 0);
    out[d - first_draw] = draws_.with(d, [&](const auto* draw) { return by_cluster(draw); });
  }
}

template <class Label>
double JointSums::by_table(const std::int32_t* partition, int left, const Label* draw, int right) {
  // Two tables in turn: neighbours often fall into one cell, and an addition need not wait for the one before it.
  const std::size_t cells = static_cast<std::size_t>(left) * right;
  counts_.assign(2 * cells, 0);
  std::int64_t* even = counts_.data();
  std::int64_t* odd = even + cells;
  int i = 0;
  for (; i + 1 < n_points_; i += 2) {
    even[partition[i] * right + draw[i]] += copies_[i];
    odd[partition[i + 1] * right + draw[i + 1]] += copies_[i + 1];
  }
  if (i < n_points_) even[partition[i] * right + draw[i]] += copies_[i];
  double sum = 0.0;
  for (std::size_t c = 0; c < cells; ++c) sum += f_[even[c] + odd[c]];
  std::fill(counts_.begin(), counts_.end(), 0);
  return sum;
}

template <class Label>
double JointSums::by_cluster(const Label* draw) {
  double sum = 0.0;
  for (std::size_t a = 0; a + 1 < start_.size(); ++a) {
    for (int at = start_[a]; at < start_[a + 1]; ++at) counts_[draw[order_[at]]] += copies_[order_[at]];
    for (int at = start_[a]; at < start_[a + 1]; ++at) {
      std::int64_t& count = counts_[draw[order_[at]]];
      if (count != 0) sum += f_[count];
      count = 0;
    }
  }
  return sum;
}

}  // namespace hedgerow
