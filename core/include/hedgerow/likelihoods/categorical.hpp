// Independent columns of levels, each with a Dirichlet base measure; two levels make Bernoulli columns with a beta one.
//
// A cell is one level of one column. Rows hold the cell of every column, kMissing where the entry was not observed; it
// leaves the likelihood.
#pragma once

#include <cstdint>

#include "hedgerow/counting.hpp"
#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class Categorical final : public Likelihood {
 public:
  static constexpr std::int32_t kMissing = -1;

  // codes (n × d): the level of column j, from 0; negative where missing. beta: one number per cell, column by column.
  Categorical(const std::int32_t* codes, int n, int d, const std::int32_t* levels, const double* beta, double power = 1.0);

  int rows() const override { return n_; }
  int columns() const { return d_; }
  int cells() const { return first_[d_]; }
  int first(int j) const { return first_[j]; }  // the cells of column j are first(j)..first(j+1)-1
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  std::unique_ptr<Portions> portions() const override;
  void append(const std::int32_t* codes, int n);
  void take(const Likelihood& other, const int* to) override;

  const std::int32_t* row(int i) const { return cells_.data() + static_cast<std::size_t>(i) * d_; }
  double beta(int cell) const { return beta_[cell]; }  // from cells() on: the sum over the cells of column j
  int factors() const { return factors_; }             // how many numbers beta + count fit into one product
  // The level most rows had at first: panels are relative to it, so that it costs nothing.
  int reference(int j) const { return reference_[j]; }
  // Whether some entry of the column is missing, and how many columns have such an entry.
  bool gap(int j) const { return gap_[j] != 0; }
  int gaps() const { return gaps_; }

  // Columns whose betas have the same sum: their totals count alike as long as nothing is missing.
  struct Alike {
    int cell, columns;
  };
  const std::vector<Alike>& alike() const { return alike_; }

  // Of a cell's count, and of the number of observed entries of column j, which is "cell" cells() + j.
  double log_rising(int cell, std::int32_t count) const { return tables_.log_rising(table_of_[cell], count); }
  double log_step(int cell, std::int32_t count) const { return tables_.log_step(table_of_[cell], count); }

 private:
  void derive(int i);  // what follows from the cells of row i: gaps, log p(x_i)

  int n_ = 0, d_, gaps_ = 0, factors_ = 1;
  std::vector<std::int32_t> first_, reference_, table_of_, cells_;
  std::vector<double> beta_;
  std::vector<Alike> alike_;
  std::vector<unsigned char> gap_;
  CountTables tables_;
};

}  // namespace hedgerow
