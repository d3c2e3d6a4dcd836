// Statistics of fixed factors: the sum of their logs.
#include "hedgerow/likelihoods/row_factors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hedgerow {
namespace {

class RowFactorStatistics final : public Statistics {
 public:
  explicit RowFactorStatistics(const RowFactors& family) : f_(family) {}

  int slots() const override { return static_cast<int>(sums_.size()); }
  void reserve(int slots) override {
    if (slots <= this->slots()) return;
    sums_.resize(std::max(slots, std::min(2 * this->slots(), this->slots() + (1 << 20))), 0.0);
  }
  void clear(int slot) override { sums_[slot] = 0.0; }
  void copy(int slot, int from) override { sums_[slot] = sums_[from]; }
  void load(int slot, Statistics& other, int from) override { sums_[slot] = static_cast<RowFactorStatistics&>(other).sums_[from]; }
  void add(int slot, int row) override { sums_[slot] += f_.log_factor(row); }
  bool remove(int slot, int row) override {
    sums_[slot] -= f_.log_factor(row);
    return true;
  }
  void merge(int slot, int other) override { sums_[slot] += sums_[other]; }
  void pack(int slot, std::vector<double>& out) override { out.push_back(sums_[slot]); }
  void unpack(int slot, std::span<const double> data) override {
    if (data.size() != 1 || !std::isfinite(data[0])) throw std::invalid_argument("packed statistics of another shape");
    sums_[slot] = data[0];
  }

  double log_marginal(int slot) override { return f_.power() * sums_[slot]; }
  double log_predictive(int row, int) override { return f_.log_single()[row]; }
  double log_predictive_without(int row, int) override { return f_.log_single()[row]; }
  void log_predictive_front(int row, int k, double* out) override { std::fill_n(out, k, f_.log_single()[row]); }
  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
    for (int i = 0; i < k; ++i) out[i] = f_.power() * (sums_[slot] + sums_[others[i]]);
  }

  // There is nothing to draw, but a product has atoms only where all its parts have.
  int atom_size() const override { return 1; }
  void draw_atom(int, Rng&, double* atom) override { atom[0] = 0.0; }
  double log_density(int row, const double*) override { return f_.log_single()[row]; }

 private:
  const RowFactors& f_;
  std::vector<double> sums_;
};

}  // namespace

RowFactors::RowFactors(const double* logs, int n, double power) : Likelihood(power), logs_(logs, logs + n) {
  log_single_.resize(n);
  for (int i = 0; i < n; ++i) log_single_[i] = power_ * logs_[i];
}

void RowFactors::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const RowFactors&>(other);
  int n = rows();
  for (int i = 0; i < o.rows(); ++i) n = std::max(n, to[i] + 1);
  logs_.resize(n);
  log_single_.resize(n);
  for (int i = 0; i < o.rows(); ++i) {
    logs_[to[i]] = o.logs_[i];
    log_single_[to[i]] = o.log_single_[i];
  }
}

std::unique_ptr<Statistics> RowFactors::statistics(Layout) const { return std::make_unique<RowFactorStatistics>(*this); }

}  // namespace hedgerow
