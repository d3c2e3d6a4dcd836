// Statistics per slot: the entries and their sum for every column, and the log factorials of the slot's rows.
#include "hedgerow/likelihoods/poisson.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hedgerow/special.hpp"
#include "recorded.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

class PoissonStatistics final : public Recorded<double> {
 public:
  PoissonStatistics(const Poisson& family, Layout layout)
      : Recorded(2 * family.columns() + 1, 3 * family.columns() + 1, layout, 1.0),
        f_(family),
        d_(family.columns()),
        fields_(d_ + 1),
        columns_(d_),
        counts_(d_) {}

  void unpack(int slot, std::span<const double> data) override {
    bool good = data.size() == static_cast<std::size_t>(width());
    for (std::size_t i = 0; good && i < data.size(); ++i) good = data[i] >= 0.0 && data[i] <= 9e15;
    if (!good) throw std::invalid_argument("packed statistics of another shape");
    std::copy_n(data.data(), width(), record(slot));
    touch(slot);
  }

  bool same_counts(int slot, int other) override { return std::equal(record(slot), record(slot) + 2 * d_, record(other)); }

  void add(int slot, int row) override { change(slot, row, 1.0); }

  bool remove(int slot, int row) override {
    change(slot, row, -1.0);
    return true;
  }

  void merge(int slot, int other) override {
    double* a = record(slot);
    const double* b = record(other);
    for (int i = 0; i < width(); ++i) a[i] += b[i];
    touch(slot);
  }

  double log_marginal(int slot) override {
    const double* p = record(slot);
    double total = -f_.power() * p[2 * d_];
    for (int j = 0; j < d_; ++j) total += f_.column(j, p[2 * j], p[2 * j + 1]);
    return total;
  }

  double log_predictive(int row, int slot) override { return log_predictive_of(row, slot, 0.0); }
  double log_predictive_without(int row, int slot) override { return log_predictive_of(row, slot, 1.0); }

  void log_predictive_front(int row, int k, double* out) override {
    refresh_stale([this](int s) { refresh(s); });
    const double* x = f_.row(row);
    int fields = 0, columns = 0;
    fields_[fields++] = 3 * d_;
    for (int j = 0; j < d_; ++j) {
      fields_[fields] = 2 * d_ + j;
      columns_[columns] = j;
      counts_[columns] = x[j];
      fields += std::isnan(x[j]);
      columns += x[j] > 0.0;
    }
    const double constant = -f_.power() * f_.log_factorials(row);
    if (f_.power() != 1.0)
      return simd().poisson_predictive_power(panel(), padded(k) / kLanes, d_, fields_.data(), fields, columns_.data(), counts_.data(),
                                             columns, f_.power(), constant, out);
    simd().poisson_predictive(panel(), padded(k) / kLanes, d_, fields_.data(), fields, columns_.data(), counts_.data(), columns,
                              f_.factor_bits(), constant, out);
  }

  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
    const double* a = record(slot);
    for (int i = 0; i < k; ++i) {
      const double* b = record(others[i]);
      double total = -f_.power() * a[2 * d_] - f_.power() * b[2 * d_];
      for (int j = 0; j < d_; ++j) total += f_.column(j, a[2 * j] + b[2 * j], a[2 * j + 1] + b[2 * j + 1]);
      out[i] = total;
    }
  }

  // θ = (λ, log λ) per column.
  int atom_size() const override { return 2 * d_; }

  void draw_atom(int slot, Rng& rng, double* atom) override {
    const double* p = record(slot);
    for (int j = 0; j < d_; ++j, p += 2, atom += 2) {
      atom[1] = rng.log_gamma_variate(f_.a(j) + f_.power() * p[1]) - f_.log_rate(j, p[0]);
      atom[0] = std::exp(atom[1]);
    }
  }

  double log_density(int row, const double* atom) override {
    const double* x = f_.row(row);
    double total = -f_.log_factorials(row);
    for (int j = 0; j < d_; ++j, atom += 2)
      if (!std::isnan(x[j])) total += x[j] * atom[1] - atom[0];
    return f_.power() * total;
  }

 private:
  // With `gone` = 1 the row is in the slot and counts no more.
  double log_predictive_of(int row, int slot, double gone) {
    const double* p = record(slot);
    const double* x = f_.row(row);
    double total = -f_.power() * f_.log_factorials(row);
    for (int j = 0; j < d_; ++j)
      if (!std::isnan(x[j])) total += step(j, p[2 * j] - gone, p[2 * j + 1] - gone * x[j], x[j]);
    return total;
  }

  void change(int slot, int row, double sign) {
    double* p = record(slot);
    const double* x = f_.row(row);
    for (int j = 0; j < d_; ++j, p += 2) {
      if (std::isnan(x[j])) continue;
      p[0] += sign;
      p[1] += sign * x[j];
    }
    p[0] += sign * f_.log_factorials(row);
    touch(slot);
  }

  // log p(x | n counts of sum S): negative binomial, without x!.
  double step(int j, double n, double sum, double x) const {
    const double shape = f_.a(j) + f_.power() * sum;
    return f_.rise(shape, x) - f_.power() * x * f_.log_rate(j, n + 1.0) - shape * std::log1p(f_.power() / (f_.b(j) + f_.power() * n));
  }

  // Fields: a + S, log(b + n + 1) and what a missing entry adds, for every column; then log p of a row of zeros, of which a
  // missing entry takes its own share back.
  void refresh(int slot) {
    double* fields = lane(slot);
    const std::size_t stride = static_cast<std::size_t>(d_) * kLanes;
    const double* p = record(slot);
    double zeros = 0.0;
    for (int j = 0; j < d_; ++j, p += 2, fields += kLanes) {
      const double shape = f_.a(j) + f_.power() * p[1];
      const double zero = shape * std::log1p(f_.power() / (f_.b(j) + f_.power() * p[0]));
      fields[0] = shape;
      fields[stride] = f_.log_rate(j, p[0] + 1.0);
      fields[2 * stride] = zero;
      zeros -= zero;
    }
    fields[2 * stride] = zeros;
  }

  const Poisson& f_;
  int d_;
  std::vector<int> fields_, columns_;
  std::vector<double> counts_;
};

}  // namespace

Poisson::Poisson(const double* x, int n, int d, const double* a, const double* b, double power)
    : Likelihood(power),
      d_(d),
      smallest_(*std::min_element(a, a + d)),
      largest_(*std::max_element(a, a + d)),
      shape_of_(d),
      rate_of_(d),
      shapes_(power),
      rates_(power) {
  for (int j = 0; j < d; ++j) {
    shape_of_[j] = shapes_.add(a[j]);
    rate_of_[j] = rates_.add(b[j]);
  }
  append(x, n);
}

void Poisson::append(const double* x, int n) {
  const int old = n_;
  n_ += n;
  x_.insert(x_.end(), x, x + static_cast<std::size_t>(n) * d_);
  log_factorials_.resize(n_);
  log_single_.resize(n_);
  std::vector<int> rows(n);
  for (int i = 0; i < n; ++i) rows[i] = old + i;
  derive(rows.data(), n);
}

void Poisson::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const Poisson&>(other);
  if (o.d_ != d_) throw std::invalid_argument("rows must have the same number of columns");
  put_rows(o.row(0), o.n_, to, d_, x_, n_);
  log_factorials_.resize(n_);
  derive(to, o.n_);
}

void Poisson::derive(const int* rows, int n) {
  for (int i = 0; i < n; ++i) {
    const double* x = row(rows[i]);
    double factorials = 0.0;
    for (int j = 0; j < d_; ++j) {
      if (std::isnan(x[j])) continue;
      factorials += lgamma(x[j] + 1.0);
      total_ += x[j];
    }
    log_factorials_[rows[i]] = factorials;
  }
  rates_.grow(n_ + 1);
  // Not more table than the rows' own size warrants: a few rows of huge counts are cheaper evaluated one by one.
  shapes_.grow(static_cast<std::int64_t>(std::min(total_, 64.0 * (1.0 + static_cast<double>(n_) * d_))));
  factor_bits_ = 1 + static_cast<int>(std::ceil(std::max(std::log2(largest_ + total_ + 1.0), -std::log2(smallest_))));
  for (int i = 0; i < n; ++i) {
    const double* x = row(rows[i]);
    double value = -power() * log_factorials_[rows[i]];
    for (int j = 0; j < d_; ++j)
      if (!std::isnan(x[j])) value += column(j, 1.0, x[j]);
    log_single_[rows[i]] = value;
  }
}

std::unique_ptr<Statistics> Poisson::statistics(Layout layout) const { return std::make_unique<PoissonStatistics>(*this, layout); }

}  // namespace hedgerow
