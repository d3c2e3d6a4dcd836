// Statistics of a user's family: sums, with the log marginal of every slot remembered.
#include "hedgerow/likelihoods/custom.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace hedgerow {
namespace {

class CustomStatistics final : public Statistics {
 public:
  explicit CustomStatistics(const Custom& family) : f_(family), m_(family.width()) {}

  int slots() const override { return static_cast<int>(count_.size()); }
  void reserve(int slots) override {
    if (slots <= this->slots()) return;
    slots = std::max(slots, std::min(2 * this->slots(), this->slots() + (1 << 20)));
    sums_.resize(static_cast<std::size_t>(slots) * m_, 0.0);
    count_.resize(slots, 0);
    value_.resize(slots, 0.0);
  }
  void clear(int slot) override {
    std::fill_n(sum(slot), m_, 0.0);
    count_[slot] = 0;
    value_[slot] = 0.0;
  }
  void copy(int slot, int from) override {
    std::copy_n(sum(from), m_, sum(slot));
    count_[slot] = count_[from];
    value_[slot] = value_[from];
  }
  void load(int slot, Statistics& other, int from) override {
    auto& source = static_cast<CustomStatistics&>(other);
    std::copy_n(source.sum(from), m_, sum(slot));
    count_[slot] = source.count_[from];
    const bool same = source.f_.power() == f_.power() || count_[slot] == 0;
    value_[slot] = same ? source.value_[from] : std::numeric_limits<double>::quiet_NaN();
  }
  void pack(int slot, std::vector<double>& out) override {
    out.insert(out.end(), sum(slot), sum(slot) + m_);
    out.push_back(count_[slot]);
    out.push_back(value_[slot]);
  }
  void unpack(int slot, std::span<const double> data) override {
    if (data.size() != static_cast<std::size_t>(m_) + 2 || !(data[m_] >= 0.0 && data[m_] <= 2147483647.0))
      throw std::invalid_argument("packed statistics of another shape");
    std::copy_n(data.data(), m_, sum(slot));
    count_[slot] = static_cast<int>(data[m_]);
    value_[slot] = data[m_ + 1];
  }
  void add(int slot, int row) override { change(slot, f_.row(row), 1.0, 1); }
  bool remove(int slot, int row) override {
    if (count_[slot] == 1) {
      clear(slot);
      return true;
    }
    change(slot, f_.row(row), -1.0, -1);
    return true;
  }
  void merge(int slot, int other) override { change(slot, sum(other), 1.0, count_[other]); }

  double log_marginal(int slot) override {
    if (std::isnan(value_[slot])) f_.evaluate(sum(slot), 1, &value_[slot]);
    return value_[slot];
  }
  double log_predictive(int row, int slot) override {
    double out;
    batch_with(f_.row(row), &slot, 1, 1.0, &out);
    return out - log_marginal(slot);
  }
  double log_predictive_without(int row, int slot) override {
    if (count_[slot] == 1) return f_.log_single()[row];
    double out;
    batch_with(f_.row(row), &slot, 1, -1.0, &out);
    return log_marginal(slot) - out;
  }
  void log_predictive_front(int row, int k, double* out) override {
    while (static_cast<int>(front_.size()) < k) front_.push_back(static_cast<int>(front_.size()));
    batch_with(f_.row(row), front_.data(), k, 1.0, out);
    for (int s = 0; s < k; ++s) out[s] -= log_marginal(s);
  }
  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    batch_with(sum(slot), others.data(), static_cast<int>(others.size()), 1.0, out);
  }

 private:
  double* sum(int slot) { return sums_.data() + static_cast<std::size_t>(slot) * m_; }
  void change(int slot, const double* by, double sign, int count) {
    double* s = sum(slot);
    for (int i = 0; i < m_; ++i) s[i] += sign * by[i];
    count_[slot] += count;
    value_[slot] = count_[slot] == 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  }
  void batch_with(const double* by, const int* slots, int k, double sign, double* out) {
    work_.resize(static_cast<std::size_t>(k) * m_);
    for (int i = 0; i < k; ++i) {
      const double* s = sum(slots[i]);
      double* w = work_.data() + static_cast<std::size_t>(i) * m_;
      for (int j = 0; j < m_; ++j) w[j] = s[j] + sign * by[j];
    }
    f_.evaluate(work_.data(), k, out);
  }

  const Custom& f_;
  int m_;
  std::vector<double> sums_, value_, work_;
  std::vector<int> count_, front_;
};

}  // namespace

Custom::Custom(const double* stats, int n, int m, LogMarginal log_marginal, bool serial, double power)
    : Likelihood(power), m_(m), log_marginal_(std::move(log_marginal)), serial_(serial) {
  append(stats, n);
}

void Custom::evaluate(const double* stats, int k, double* out) const {
  if (power_ == 1.0) return log_marginal_(stats, k, m_, out);
  std::vector<double> worth(stats, stats + static_cast<std::size_t>(k) * m_);
  for (double& s : worth) s *= power_;
  log_marginal_(worth.data(), k, m_, out);
}

void Custom::append(const double* stats, int n) {
  stats_.insert(stats_.end(), stats, stats + static_cast<std::size_t>(n) * m_);
  log_single_.resize(n_ + n);
  if (n > 0) evaluate(row(n_), n, log_single_.data() + n_);
  n_ += n;
}

void Custom::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const Custom&>(other);
  if (o.m_ != m_) throw std::invalid_argument("rows must have the same number of statistics");
  put_rows(o.row(0), o.n_, to, m_, stats_, n_);
  for (int i = 0; i < o.n_; ++i) log_single_[to[i]] = o.log_single_[i];
}

std::unique_ptr<Statistics> Custom::statistics(Layout) const { return std::make_unique<CustomStatistics>(*this); }

}  // namespace hedgerow
