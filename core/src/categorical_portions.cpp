// Clusters of rows that count in part, for columns of levels.
//
// An atom is that of the family's Statistics, the log probability of every cell, and a 0 for entries that are missing: they have a
// cell of their own, the last.
#include <algorithm>
#include <cmath>
#include <vector>

#include "hedgerow/likelihoods/categorical.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {

class CategoricalPortions final : public Portions {
 public:
  explicit CategoricalPortions(const Categorical& family) : f_(family) {}

  void open(std::span<const int> rows, int slots) override {
    room_ = padded(static_cast<int>(rows.size()));
    cells_.assign(static_cast<std::size_t>(room_) * f_.columns(), f_.cells());
    shapes_.resize(static_cast<std::size_t>(slots) * f_.cells());
    count_.resize(f_.cells() + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t* x = f_.row(rows[i]);
      for (int j = 0; j < f_.columns(); ++j)
        if (x[j] != Categorical::kMissing) cells_[static_cast<std::size_t>(j) * room_ + i] = x[j];
    }
  }

  double weigh(int slot, const double* weights) override {
    double *shape = shapes_.data() + first(slot), total = 0.0, known_beta = 0.0, known_n = -1.0, rise = 0.0;
    std::fill(count_.begin(), count_.end(), 0.0);
    for (int j = 0; j < f_.columns(); ++j) {
      const std::int32_t* x = column(j);
      for (int i = 0; i < room_; ++i) count_[x[i]] += weights[i];
      double n = 0.0;
      for (int t = f_.first(j); t < f_.first(j + 1); ++t) {
        const double count = f_.power() * count_[t];
        n += count;
        shape[t] = f_.beta(t) + count;
        if (count > 0.0) total += log_rising_any(f_.beta(t), count);
      }
      const double beta = f_.beta(f_.cells() + j);
      if (beta != known_beta || n != known_n) rise = log_rising_any(known_beta = beta, known_n = n);
      total -= rise;
    }
    return total;
  }

  int atom_size() const override { return f_.cells() + 1; }

  void middle_atom(int slot, double* atom) const override {
    for (int t = 0; t < f_.cells(); ++t) atom[t] = std::log(shapes_[first(slot) + t]);
    normalise(atom);
  }

  void draw_atom(int slot, Rng& rng, double* atom) const override {
    for (int t = 0; t < f_.cells(); ++t) atom[t] = rng.log_gamma_variate(shapes_[first(slot) + t]);
    normalise(atom);
  }

  void log_densities(const double* atom, double* out) const override {
    std::fill_n(out, room_, 0.0);
    for (int j = 0; j < f_.columns(); ++j) {
      const std::int32_t* x = column(j);
      for (int i = 0; i < room_; ++i) out[i] += atom[x[i]];
    }
    for (int i = 0; i < room_; ++i) out[i] *= f_.power();
  }

 private:
  std::size_t first(int slot) const { return static_cast<std::size_t>(slot) * f_.cells(); }
  const std::int32_t* column(int j) const { return cells_.data() + static_cast<std::ptrdiff_t>(j) * room_; }
  void normalise(double* atom) const {
    for (int j = 0; j < f_.columns(); ++j) {
      const double total = log_sum(atom + f_.first(j), f_.first(j + 1) - f_.first(j));
      for (int t = f_.first(j); t < f_.first(j + 1); ++t) atom[t] -= total;
    }
    atom[f_.cells()] = 0.0;
  }

  const Categorical& f_;
  int room_ = 0;
  std::vector<std::int32_t> cells_;  // column by column
  std::vector<double> shapes_, count_;
};

}  // namespace

std::unique_ptr<Portions> Categorical::portions() const { return std::make_unique<CategoricalPortions>(*this); }

}  // namespace hedgerow
