// Columns of numbers of the rows of a window, one after the other, for clusters whose rows count in part.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"
#include "simd.hpp"

namespace hedgerow {

// Columns have room for a multiple of 8 rows. NaN is missing: 0 here, and it counts nothing.
class WindowColumns {
 public:
  // `row` gives the entries of a row by its number.
  template <class Row>
  void open(std::span<const int> rows, int columns, const Row& row) {
    room_ = padded(static_cast<int>(rows.size()));
    entries_.assign(static_cast<std::size_t>(room_) * columns, 0.0);
    seen_.assign(static_cast<std::size_t>(room_) * (columns + 1), 1.0);
    gap_.assign(columns, 0);
    own_.resize(room_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double* x = row(rows[i]);
      for (int j = 0; j < columns; ++j) {
        const std::size_t at = static_cast<std::size_t>(j) * room_ + i;
        if (std::isnan(x[j])) {
          gap_[j] = 1;
          seen_[at] = 0.0;
        } else {
          entries_[at] = x[j];
        }
      }
    }
  }

  int room() const { return room_; }
  bool gap(int j) const { return gap_[j] != 0; }  // whether some entry of the column is missing
  const double* column(int j) const { return entries_.data() + static_cast<std::ptrdiff_t>(j) * room_; }
  const double* seen(int j) const {
    return seen_.data() + static_cast<std::ptrdiff_t>(j) * room_;
  }  // 1 where there is an entry, else 0

  double sum(const double* weights) const { return simd().dot(weights, seen(static_cast<int>(gap_.size())), room_); }
  // The weights of the entries of a column that are there.
  const double* own(int j, const double* weights) {
    if (!gap(j)) return weights;
    for (int i = 0; i < room_; ++i) own_[i] = weights[i] * seen(j)[i];
    return own_.data();
  }

 private:
  int room_ = 0;
  AlignedVector<double> entries_, seen_, own_;
  std::vector<unsigned char> gap_;
};

}  // namespace hedgerow
