// Clusters of rows that count in part, for Poisson columns. An atom is that of the family's Statistics.
#include <cmath>

#include "hedgerow/likelihoods/poisson.hpp"
#include "window_columns.hpp"

namespace hedgerow {
namespace {

class PoissonPortions final : public Portions {
 public:
  explicit PoissonPortions(const Poisson& family) : f_(family) {}

  void open(std::span<const int> rows, int slots) override {
    window_.open(rows, d(), [this](int row) { return f_.row(row); });
    columns_.resize(static_cast<std::size_t>(slots) * d());
    log_factorials_.assign(window_.room(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) log_factorials_[i] = f_.log_factorials(rows[i]);
  }

  double weigh(int slot, const double* weights) override {
    const double all = window_.sum(weights);
    double total = -f_.power() * simd().dot(weights, log_factorials_.data(), window_.room());
    for (int j = 0; j < d(); ++j) {
      const double n = f_.power() * (window_.gap(j) ? simd().dot(weights, window_.seen(j), window_.room()) : all);
      const double sum = f_.power() * simd().dot(weights, window_.column(j), window_.room());
      const double a = f_.a(j), b = f_.b(j);
      at(slot, j) = {a + sum, b + n};
      if (sum > 0.0) total += log_rising_any(a, sum) - sum * std::log(b + n);
      total -= a * std::log1p(n / b);
    }
    return total;
  }

  int atom_size() const override { return 2 * d(); }

  void middle_atom(int slot, double* atom) const override {
    for (int j = 0; j < d(); ++j, atom += 2) {
      atom[0] = at(slot, j).shape / at(slot, j).rate;
      atom[1] = std::log(atom[0]);
    }
  }

  void draw_atom(int slot, Rng& rng, double* atom) const override {
    for (int j = 0; j < d(); ++j, atom += 2) {
      atom[1] = rng.log_gamma_variate(at(slot, j).shape) - std::log(at(slot, j).rate);
      atom[0] = std::exp(atom[1]);
    }
  }

  void log_densities(const double* atom, double* out) const override {
    double zeros = 0.0;
    for (int j = 0; j < d(); ++j)
      if (!window_.gap(j)) zeros += atom[2 * j];
    for (int i = 0; i < window_.room(); ++i) out[i] = -zeros - log_factorials_[i];
    for (int j = 0; j < d(); ++j, atom += 2) {
      const double *x = window_.column(j), *seen = window_.seen(j), rate = atom[0], log_rate = atom[1];
      for (int i = 0; i < window_.room(); ++i) out[i] += x[i] * log_rate;
      if (window_.gap(j))
        for (int i = 0; i < window_.room(); ++i) out[i] -= seen[i] * rate;
    }
    for (int i = 0; i < window_.room(); ++i) out[i] *= f_.power();
  }

 private:
  struct Column {
    double shape, rate;  // of the gamma law of λ
  };
  int d() const { return f_.columns(); }
  Column& at(int slot, int j) { return columns_[static_cast<std::size_t>(slot) * d() + j]; }
  const Column& at(int slot, int j) const { return columns_[static_cast<std::size_t>(slot) * d() + j]; }

  const Poisson& f_;
  WindowColumns window_;
  AlignedVector<double> log_factorials_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<Portions> Poisson::portions() const { return std::make_unique<PoissonPortions>(*this); }

}  // namespace hedgerow
