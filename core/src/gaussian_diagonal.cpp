// Statistics per slot and column: observed count, mean and scatter.
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "hedgerow/special.hpp"
#include "recorded.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

// A record has n, mean and S of every column.
class GaussianDiagonalStatistics final : public Recorded<double> {
 public:
  GaussianDiagonalStatistics(const GaussianDiagonal& family, Layout layout)
      : Recorded(3 * family.dimension(), 4 * family.dimension(), layout),
        f_(family),
        d_(family.dimension()),
        even_(family.even()),
        observed_(d_) {}

  void unpack(int slot, std::span<const double> data) override {
    bool good = data.size() == static_cast<std::size_t>(3 * d_);
    for (std::size_t i = 0; good && i < data.size(); ++i)
      good = std::isfinite(data[i]) && (i % 3 == 1 || (data[i] >= 0.0 && data[i] <= 1e300));
    for (std::size_t i = 0; good && i < data.size(); i += 3) good = data[i] <= 2147483647.0;
    if (!good) throw std::invalid_argument("packed statistics of another shape");
    std::memcpy(record(slot), data.data(), sizeof(double) * data.size());
    touch(slot);
  }

  void add(int slot, int row) override {
    double* p = record(slot);
    const double* x = f_.row(row);
    for (int j = 0; j < d_; ++j, p += 3) {
      if (std::isnan(x[j])) continue;
      const double n = p[0] + 1.0, delta = x[j] - p[1];
      p[2] += delta * delta * (p[0] / n);
      p[1] += delta / n;
      p[0] = n;
    }
    touch(slot);
  }

  bool remove(int slot, int row) override {
    double* p = record(slot);
    const double* x = f_.row(row);
    bool precise = true;
    for (int j = 0; j < d_; ++j, p += 3) {
      if (std::isnan(x[j])) continue;
      const double n = p[0] - 1.0;
      if (n <= 0.0) {
        p[0] = p[1] = p[2] = 0.0;
        continue;
      }
      const double delta = x[j] - p[1], before = 1.0 + p[2];
      p[2] -= delta * delta * (p[0] / n);
      p[1] -= delta / n;
      p[0] = n;
      precise = precise && 1.0 + p[2] > 1e-5 * before;
      p[2] = std::max(p[2], 0.0);
    }
    touch(slot);
    return precise;
  }

  void merge(int slot, int other) override {
    double* p = record(slot);
    const double* o = record(other);
    for (int j = 0; j < d_; ++j, p += 3, o += 3) {
      const double n = p[0] + o[0];
      if (n == 0.0) continue;
      const double delta = o[1] - p[1];
      p[2] += o[2] + delta * delta * (p[0] * o[0] / n);
      p[1] += delta * (o[0] / n);
      p[0] = n;
    }
    touch(slot);
  }

  double log_marginal(int slot) override {
    const double* p = record(slot);
    double total = 0.0;
    Logs logs(f_.even());
    for (int j = 0; j < d_; ++j, p += 3) column(j, p[0], p[1], p[2], total, logs);
    return logs.finish(total);
  }

  double log_predictive(int row, int slot) override {
    const double* p = record(slot);
    const double* x = f_.row(row);
    double total = 0.0;
    for (int j = 0; j < d_; ++j, p += 3) {
      if (std::isnan(x[j])) continue;
      const Predictive v = predictive(j, p);
      const double z = x[j] - v.mean;
      total += v.constant - v.exponent * std::log1p(v.gain * z * z);
    }
    return total;
  }

  double log_predictive_without(int row, int slot) override {
    const double* p = record(slot);
    const double* x = f_.row(row);
    double total = 0.0;
    for (int j = 0; j < d_; ++j, p += 3) {
      if (std::isnan(x[j])) continue;
      const double n = p[0] - 1.0;
      double without[3] = {0.0, 0.0, 0.0};
      if (n > 0.0) {
        const double delta = x[j] - p[1];
        without[0] = n;
        without[1] = p[1] - delta / n;
        without[2] = std::max(0.0, p[2] - delta * delta * (p[0] / n));
      }
      const Predictive v = predictive(j, without);
      const double z = x[j] - v.mean;
      total += v.constant - v.exponent * std::log1p(v.gain * z * z);
    }
    return total;
  }

  void log_predictive_front(int row, int k, double* out) override {
    if (even_ != f_.even()) {  // rows taken in since have gaps: the constants are no longer summed
      even_ = f_.even();
      touch_all();
    }
    refresh_stale([this](int s) { refresh(s); });
    const double* x = f_.row(row);
    const int blocks = padded(k) / kLanes;
    if (f_.even()) return simd().gd_predictive_even(panel(), blocks, d_, x, out);
    int count = 0;
    for (int j = 0; j < d_; ++j)
      if (!std::isnan(x[j])) observed_[count++] = j;
    simd().gd_predictive(panel(), blocks, d_, x, observed_.data(), count, out);
  }

  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
    const double* a = record(slot);
    for (int i = 0; i < k; ++i) {
      const double* p = a;
      const double* o = record(others[i]);
      double total = 0.0;
      Logs logs(f_.even());
      for (int j = 0; j < d_; ++j, p += 3, o += 3) {
        const double n = p[0] + o[0];
        if (n == 0.0) continue;
        const double delta = o[1] - p[1];
        column(j, n, p[1] + delta * (o[0] / n), p[2] + o[2] + delta * delta * (p[0] * o[0] / n), total, logs);
      }
      out[i] = logs.finish(total);
    }
  }

  // θ = (constant, μ, λ) per column, constant and λ times the power.
  int atom_size() const override { return 3 * d_; }

  void draw_atom(int slot, Rng& rng, double* atom) override {
    const double* p = record(slot);
    for (int j = 0; j < d_; ++j, p += 3, atom += 3) {
      const double n = f_.power() * p[0], r = f_.r(j) + n;
      const double scale = 1.0 + 0.5 * (f_.power() * p[2] + f_.r(j) * n / r * p[1] * p[1]);
      const double log_precision = rng.log_gamma_variate(f_.a(j) + 0.5 * n) - std::log(scale);
      atom[0] = f_.power() * (0.5 * (log_precision - kLog2Pi) - f_.log_scale(j));
      atom[1] = n / r * p[1] + rng.normal() * std::exp(-0.5 * (log_precision + std::log(r)));
      atom[2] = f_.power() * std::exp(log_precision);
    }
  }

  double log_density(int row, const double* atom) override {
    const double* x = f_.row(row);
    double total = 0.0;
    for (int j = 0; j < d_; ++j, atom += 3) {
      if (std::isnan(x[j])) continue;
      const double z = x[j] - atom[1];
      total += atom[0] - 0.5 * atom[2] * z * z;
    }
    return total;
  }

 private:
  // Σ a_n log B_n: with one a_n for all columns, logs of products of four.
  struct Logs {
    explicit Logs(bool shared) : even(shared) {}
    bool even;
    double product = 1.0, sum = 0.0, factor = 0.0;
    int held = 0;
    void take(double weight, double value) {
      if (!even) {
        sum += weight * std::log(value);
        return;
      }
      factor = weight;
      product *= value;
      if (++held == 4) flush();
    }
    void flush() {
      sum += std::log(product);
      product = 1.0;
      held = 0;
    }
    double finish(double total) {
      if (!even) return total - sum;
      flush();
      return total - factor * sum;
    }
  };

  struct Predictive {
    double mean, gain, exponent, constant;
  };

  void column(int j, double n, double mean, double scatter, double& total, Logs& logs) const {
    if (n == 0.0) return;
    const double r = f_.r(j), worth = f_.power() * n;
    total += f_.column_constant(j, n);
    logs.take(f_.a(j) + 0.5 * worth, 1.0 + 0.5 * (f_.power() * scatter + r * worth / (r + worth) * mean * mean));
  }

  Predictive predictive(int j, const double* p) const {
    const double power = f_.power(), n = power * p[0], r = f_.r(j) + n;
    const double scale = 1.0 + 0.5 * (power * p[2] + f_.r(j) * n / r * p[1] * p[1]);
    const double constant = f_.log_gamma_half(j, p[0] + 1.0) - f_.log_gamma_half(j, p[0]) +
                            0.5 * (std::log(r / (r + power)) - power * kLog2Pi - power * std::log(scale)) - power * f_.log_scale(j);
    return {n / r * p[1], power * r / (2.0 * (r + power) * scale), f_.a(j) + 0.5 * (n + power), constant};
  }

  void refresh(int slot) {
    double* fields = lane(slot);
    const std::size_t stride = static_cast<std::size_t>(d_) * kLanes;
    const double* p = record(slot);
    double sum = 0.0;
    for (int j = 0; j < d_; ++j, p += 3) {
      const Predictive v = predictive(j, p);
      double* cell = fields + static_cast<std::size_t>(j) * kLanes;
      cell[0] = v.mean;
      cell[stride] = v.gain;
      cell[2 * stride] = v.exponent;
      cell[3 * stride] = v.constant;
      sum += v.constant;
    }
    if (f_.even()) fields[3 * stride] = sum;
  }

  const GaussianDiagonal& f_;
  int d_;
  bool even_;
  std::vector<int> observed_;
};

}  // namespace

GaussianDiagonal::GaussianDiagonal(const double* x, int n, int d, const double* mean, const double* r, const double* a, const double* b,
                                   double power)
    : Likelihood(power), d_(d), mean_(mean, mean + d), r_(r, r + d), a_(a, a + d), scale_(d), log_scale_(d), table_of_(d) {
  for (int j = 0; j < d; ++j) {
    scale_[j] = std::sqrt(b[j]);
    log_scale_[j] = std::log(scale_[j]);
    std::size_t t = 0;
    while (t < table_a_.size() && table_a_[t] != a_[j]) ++t;
    if (t == table_a_.size()) table_a_.push_back(a_[j]);
    table_of_[j] = static_cast<int>(t);
  }
  even_ = table_a_.size() == 1;
  tables_.resize(table_a_.size());
  append(x, n);
}

void GaussianDiagonal::append(const double* x, int n) {
  const int old = n_;
  y_.resize(static_cast<std::size_t>(n_ + n) * d_);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d_; ++j) {
      const double v = x[static_cast<std::size_t>(i) * d_ + j];
      y_[static_cast<std::size_t>(n_ + i) * d_ + j] = (v - mean_[j]) / scale_[j];
      if (std::isnan(v)) even_ = false;
    }
  n_ += n;
  grow_tables();
  log_single_.resize(n_);
  for (int i = old; i < n_; ++i) {
    double total = 0.0;
    for (int j = 0; j < d_; ++j) {
      const double y = row(i)[j];
      if (std::isnan(y)) continue;
      total += column_constant(j, 1.0) - (a_[j] + 0.5 * power_) * std::log1p(0.5 * power_ * r_[j] / (r_[j] + power_) * y * y);
    }
    log_single_[i] = total;
  }
}

void GaussianDiagonal::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const GaussianDiagonal&>(other);
  if (o.d_ != d_) throw std::invalid_argument("rows must have the same number of columns");
  put_rows(o.row(0), o.n_, to, d_, y_, n_);
  grow_tables();
  for (int i = 0; i < o.n_; ++i) {
    log_single_[to[i]] = o.log_single_[i];
    for (int j = 0; j < d_; ++j)
      if (std::isnan(o.row(i)[j])) even_ = false;
  }
}

void GaussianDiagonal::grow_tables() {
  constexpr std::size_t kMost = std::size_t{1} << 22;
  if (tables_.size() * (n_ + 3) > kMost) return;
  for (std::size_t t = 0; t < tables_.size(); ++t)
    for (int i = static_cast<int>(tables_[t].size()); i < n_ + 3; ++i) tables_[t].push_back(lgamma(table_a_[t] + 0.5 * (power_ * i)));
}

double GaussianDiagonal::log_gamma_half(int j, double n) const {
  const auto& table = tables_[table_of_[j]];
  const auto i = static_cast<std::size_t>(n);
  return i < table.size() ? table[i] : lgamma(a_[j] + 0.5 * (power_ * n));
}

double GaussianDiagonal::column_constant(int j, double n) const {
  const double worth = power_ * n;
  return log_gamma_half(j, n) - log_gamma_half(j, 0.0) + 0.5 * std::log(r_[j] / (r_[j] + worth)) -
         worth * (0.5 * kLog2Pi + log_scale_[j]);
}

std::unique_ptr<Statistics> GaussianDiagonal::statistics(Layout layout) const {
  return std::make_unique<GaussianDiagonalStatistics>(*this, layout);
}

}  // namespace hedgerow
