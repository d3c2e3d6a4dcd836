// Clusters of rows that count in part, for independent Gaussian columns. An atom is that of the family's Statistics.
#include <cmath>

#include "hedgerow/counting.hpp"
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"
#include "hedgerow/special.hpp"
#include "window_columns.hpp"

namespace hedgerow {
namespace {

class DiagonalPortions final : public Portions {
 public:
  explicit DiagonalPortions(const GaussianDiagonal& family) : f_(family) {}

  void open(std::span<const int> rows, int slots) override {
    window_.open(rows, d(), [this](int row) { return f_.row(row); });
    columns_.resize(static_cast<std::size_t>(slots) * d());
  }

  double weigh(int slot, const double* weights) override {
    double total = 0.0, known_a = 0.0, known_n = -1.0, rise = 0.0;
    for (int j = 0; j < d(); ++j) {
      double mean, scatter;
      const double n =
          f_.power() * simd().window_moments(window_.column(j), window_.room(), 1, window_.own(j, weights), &mean, &scatter);
      const double r = f_.r(j), a = f_.a(j);
      if (a != known_a || n != known_n) rise = log_rising_any(known_a = a, 0.5 * (known_n = n));  // most columns are alike
      Column& column = at(slot, j);
      column = {n / (r + n) * mean, r + n, a + 0.5 * n, 1.0 + 0.5 * (f_.power() * scatter + r * n / (r + n) * mean * mean)};
      total += rise - column.shape * std::log(column.scale) - 0.5 * std::log1p(n / r) - n * (0.5 * kLog2Pi + f_.log_scale(j));
    }
    return total;
  }

  int atom_size() const override { return 3 * d(); }

  void middle_atom(int slot, double* atom) const override {
    for (int j = 0; j < d(); ++j, atom += 3) {
      const Column& column = at(slot, j);
      put(j, column.mean, std::log(column.shape / column.scale), atom);
    }
  }

  void draw_atom(int slot, Rng& rng, double* atom) const override {
    for (int j = 0; j < d(); ++j, atom += 3) {
      const Column& column = at(slot, j);
      const double log_precision = rng.log_gamma_variate(column.shape) - std::log(column.scale);
      put(j, column.mean + rng.normal() * std::exp(-0.5 * (log_precision + std::log(column.r))), log_precision, atom);
    }
  }

  void log_densities(const double* atom, double* out) const override {
    std::fill_n(out, window_.room(), 0.0);
    double constant = 0.0;
    for (int j = 0; j < d(); ++j, atom += 3) {
      const double *x = window_.column(j), *seen = window_.seen(j), own = atom[0], mean = atom[1], half = 0.5 * atom[2];
      if (window_.gap(j)) {
        for (int i = 0; i < window_.room(); ++i) out[i] += seen[i] * (own - half * (x[i] - mean) * (x[i] - mean));
      } else {
        for (int i = 0; i < window_.room(); ++i) out[i] -= half * (x[i] - mean) * (x[i] - mean);
        constant += own;
      }
    }
    for (int i = 0; i < window_.room(); ++i) out[i] += constant;
  }

 private:
  struct Column {
    double mean, r, shape, scale;  // μ ~ N(mean, 1/(rλ)), λ ~ Gamma(shape, rate scale)
  };
  int d() const { return f_.dimension(); }
  Column& at(int slot, int j) { return columns_[static_cast<std::size_t>(slot) * d() + j]; }
  const Column& at(int slot, int j) const { return columns_[static_cast<std::size_t>(slot) * d() + j]; }
  void put(int j, double mean, double log_precision, double* atom) const {
    atom[0] = f_.power() * (0.5 * (log_precision - kLog2Pi) - f_.log_scale(j));
    atom[1] = mean;
    atom[2] = f_.power() * std::exp(log_precision);
  }

  const GaussianDiagonal& f_;
  WindowColumns window_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<Portions> GaussianDiagonal::portions() const { return std::make_unique<DiagonalPortions>(*this); }

}  // namespace hedgerow
