// The search for the partition of least expected loss, with limits to the number of clusters.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "hedgerow/estimate.hpp"

namespace hedgerow {

namespace {

constexpr int kPaired = 1500;  // clusters of which all pairs are looked at

}  // namespace

void PartitionSearch::limit(int least, int most) {
  if (least < 1 || most < least) throw std::invalid_argument("limits must be 1 or more, the least first");
  least_ = least;
  most_ = most;
}

void PartitionSearch::hold(const std::int32_t* points, int count) {
  std::vector<char> held(n_points_, 0);
  for (int i = 0; i < count; ++i) {
    if (points[i] < 0 || points[i] >= n_points_) throw std::invalid_argument("points that are held must be there");
    held[points[i]] = 1;
  }
  held_ = std::move(held);
}

// The smallest clusters, one after the other, point by point to where they are best.
void PartitionSearch::thin_out(int most) {
  const int before = most_;
  while (occupied_ > most) {
    most_ = occupied_ - 1;
    int smallest = -1;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      if (sizes_[k] > 0 && (smallest < 0 || sizes_[k] < sizes_[smallest])) smallest = static_cast<int>(k);
    std::vector<int> members;
    for (int i = 0; i < n_points_; ++i)
      if (labels_[i] == smallest) members.push_back(i);
    for (int i : members) take_out(i);
    place_all(members);
  }
  most_ = before;
}

// Adds to `shared` (columns × columns, the lower number first) what joining two columns of one row of the table is worth: of
// column `only` with the others, or of all pairs (-1).
void PartitionSearch::count_pairs(const std::vector<Entry>& row, double weight, int only, std::vector<double>& shared,
                                  double sign) const {
  const std::size_t columns = sizes_.size();
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) {
      if (only >= 0 && row[a].column != only && row[b].column != only) continue;
      const std::size_t low = std::min(row[a].column, row[b].column), high = std::max(row[a].column, row[b].column);
      const std::int64_t x = row[a].count, y = row[b].count;
      shared[low * columns + high] += sign * weight * (f_[x + y] - f_[x] - f_[y]);
    }
  }
}

void PartitionSearch::join_down(int most) {
  if (most < 1) throw std::invalid_argument("most must be 1 or more");
  thin_out(std::max(most, kPaired));
  close_gaps();
  const std::size_t columns = sizes_.size();
  std::vector<double> shared(columns * columns, 0.0);
  for (std::size_t r = 1; r < n_cells_; ++r) count_pairs(table_[r], (*cell_weights_)[r], -1, shared, 1.0);
  while (occupied_ > most) {
    double least = std::numeric_limits<double>::infinity();
    int into = -1, from = -1;
    for (std::size_t a = 0; a < columns; ++a) {
      if (sizes_[a] == 0) continue;
      for (std::size_t b = a + 1; b < columns; ++b) {
        if (sizes_[b] == 0) continue;
        const double cost = joining_ * (f_[sizes_[a] + sizes_[b]] - f_[sizes_[a]] - f_[sizes_[b]]) - 2.0 * shared[a * columns + b];
        if (cost < least) least = cost, into = static_cast<int>(a), from = static_cast<int>(b);
      }
    }
    std::vector<std::size_t> touched;  // rows of the table where `from` occurs: no others change
    for (std::size_t r = 1; r < n_cells_; ++r) {
      const auto& row = table_[r];
      if (std::none_of(row.begin(), row.end(), [&](const Entry& e) { return e.column == from; })) continue;
      touched.push_back(r);
      count_pairs(row, (*cell_weights_)[r], into, shared, -1.0);
    }
    for (int i = 0; i < n_points_; ++i) {
      if (labels_[i] != from) continue;
      take_out(i);
      place(i, into);
    }
    for (std::size_t r : touched) count_pairs(table_[r], (*cell_weights_)[r], into, shared, 1.0);
  }
}

}  // namespace hedgerow
