// Statistics per slot: the count of every cell, then the number of observed entries of every column.
#include "hedgerow/likelihoods/categorical.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "hedgerow/special.hpp"
#include "recorded.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

class CategoricalStatistics final : public Recorded<std::int32_t> {
 public:
  CategoricalStatistics(const Categorical& family, Layout layout)
      : Recorded(family.cells() + family.columns(), family.cells() + 1, layout),
        f_(family),
        d_(family.columns()),
        cells_(family.cells()),
        gaps_(family.gaps()),
        listed_(d_ + 1) {}

  void unpack(int slot, std::span<const double> data) override {
    if (data.size() != static_cast<std::size_t>(width())) throw std::invalid_argument("packed statistics of another shape");
    for (int i = 0; i < width(); ++i) {
      if (!(data[i] >= 0.0 && data[i] <= 2147483647.0)) throw std::invalid_argument("packed statistics of another shape");
      record(slot)[i] = static_cast<std::int32_t>(data[i]);
    }
    touch(slot);
  }

  bool same_counts(int slot, int other) override { return std::equal(record(slot), record(slot) + width(), record(other)); }

  void add(int slot, int row) override { count(slot, row, 1); }

  bool remove(int slot, int row) override {
    count(slot, row, -1);
    return true;
  }

  void merge(int slot, int other) override {
    std::int32_t* a = record(slot);
    const std::int32_t* b = record(other);
    for (int i = 0; i < width(); ++i) a[i] += b[i];
    touch(slot);
  }

  double log_marginal(int slot) override {
    const std::int32_t* p = record(slot);
    return marginal([p](int t) { return p[t]; });
  }

  double log_predictive(int row, int slot) override { return predictive(row, slot, 0); }
  double log_predictive_without(int row, int slot) override { return predictive(row, slot, 1); }

  void log_predictive_front(int row, int k, double* out) override {
    if (gaps_ != f_.gaps()) {  // rows taken in since have gaps in columns that had none: more fields are needed
      gaps_ = f_.gaps();
      touch_all();
    }
    refresh_stale([this](int s) { refresh(s); });
    const std::int32_t* x = f_.row(row);
    int count = 0;
    listed_[count++] = cells_;
    for (int j = 0; j < d_; ++j) {
      const int reference = f_.reference(j);
      listed_[count] = x[j] == Categorical::kMissing ? reference : x[j];
      count += x[j] != reference;
    }
    simd().field_sums(panel(), padded(k) / kLanes, cells_ + 1, listed_.data(), count, out);
  }

  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
    const std::int32_t* a = record(slot);
    for (int i = 0; i < k; ++i) {
      const std::int32_t* b = record(others[i]);
      out[i] = marginal([a, b](int t) { return a[t] + b[t]; });
    }
  }

  // θ = log probability of every cell, Dirichlet column by column.
  int atom_size() const override { return cells_; }

  void draw_atom(int slot, Rng& rng, double* atom) override {
    const std::int32_t* p = record(slot);
    for (int t = 0; t < cells_; ++t) atom[t] = rng.log_gamma_variate(f_.beta(t) + f_.power() * p[t]);
    for (int j = 0; j < d_; ++j) {
      const int first = f_.first(j), levels = f_.first(j + 1) - first;
      const double total = log_sum(atom + first, levels);
      for (int t = first; t < first + levels; ++t) atom[t] -= total;
    }
  }

  double log_density(int row, const double* atom) override {
    const std::int32_t* x = f_.row(row);
    double total = 0.0;
    for (int j = 0; j < d_; ++j)
      if (x[j] != Categorical::kMissing) total += atom[x[j]];
    return f_.power() * total;
  }

 private:
  template <class Count>
  double marginal(const Count& count) const {
    double total = 0.0;
    for (int t = 0; t < cells_; ++t) total += f_.log_rising(t, count(t));
    if (f_.gaps() == 0) {  // every column has as many entries as the first
      for (const auto& same : f_.alike()) total -= same.columns * f_.log_rising(same.cell, count(cells_));
    } else {
      for (int t = cells_; t < width(); ++t) total -= f_.log_rising(t, count(t));
    }
    return total;
  }

  void count(int slot, int row, int by) {
    std::int32_t* p = record(slot);
    const std::int32_t* x = f_.row(row);
    for (int j = 0; j < d_; ++j) {
      if (x[j] == Categorical::kMissing) continue;
      p[x[j]] += by;
      p[cells_ + j] += by;
    }
    touch(slot);
  }

  double predictive(int row, int slot, int inside) {
    const std::int32_t* p = record(slot);
    const std::int32_t* x = f_.row(row);
    double total = 0.0;
    if (f_.power() != 1.0) {
      for (int j = 0; j < d_; ++j)
        if (x[j] != Categorical::kMissing)
          total += f_.log_step(x[j], p[x[j]] - inside) - f_.log_step(cells_ + j, p[cells_ + j] - inside);
      return total;
    }
    for (int from = 0; from < d_; from += f_.factors()) {
      const int end = std::min(d_, from + f_.factors());
      double chosen = 1.0, all = 1.0;
      for (int j = from; j < end; ++j) {
        if (x[j] == Categorical::kMissing) continue;
        chosen *= f_.beta(x[j]) + (p[x[j]] - inside);
        all *= f_.beta(cells_ + j) + (p[cells_ + j] - inside);
      }
      total += std::log(chosen) - std::log(all);
    }
    return total;
  }

  // The last field is log p of the row that has the reference level everywhere. Field t is what level t adds to that, and the
  // field of a reference level what a missing entry adds. The total of the column cancels in all but the last two.
  void refresh(int slot) {
    double* fields = lane(slot);
    const std::int32_t* p = record(slot);
    double base = 0.0;
    for (int j = 0; j < d_; ++j) {
      const int reference = f_.reference(j);
      const double usual = f_.log_step(reference, p[reference]);
      const double probability = usual - f_.log_step(cells_ + j, p[cells_ + j]);
      base += probability;
      for (int t = f_.first(j); t < f_.first(j + 1); ++t)
        if (t != reference) fields[static_cast<std::size_t>(t) * kLanes] = f_.log_step(t, p[t]) - usual;
      if (f_.gap(j)) fields[static_cast<std::size_t>(reference) * kLanes] = -probability;
    }
    fields[static_cast<std::size_t>(cells_) * kLanes] = base;
  }

  const Categorical& f_;
  int d_, cells_, gaps_;
  std::vector<int> listed_;
};

}  // namespace

Categorical::Categorical(const std::int32_t* codes, int n, int d, const std::int32_t* levels, const double* beta, double power)
    : Likelihood(power), d_(d), first_(d + 1, 0), reference_(d), gap_(d, 0), tables_(power) {
  for (int j = 0; j < d; ++j) first_[j + 1] = first_[j] + levels[j];
  beta_.assign(beta, beta + cells());
  table_of_.resize(cells() + d);
  for (int t = 0; t < cells(); ++t) table_of_[t] = tables_.add(beta[t]);
  for (int j = 0; j < d; ++j) {
    double total = 0.0;
    for (int t = first_[j]; t < first_[j + 1]; ++t) total += beta[t];
    table_of_[cells() + j] = tables_.add(total);
    beta_.push_back(total);
  }
  std::map<int, int> by_table;
  for (int j = 0; j < d; ++j) {
    const auto [at, fresh] = by_table.try_emplace(table_of_[cells() + j], static_cast<int>(alike_.size()));
    if (fresh) alike_.push_back({cells() + j, 0});
    ++alike_[at->second].columns;
  }
  double bits = 32.0;  // a count takes 31
  for (double b : beta_) bits = std::max(bits, 1.0 + std::abs(std::log2(b)));
  factors_ = std::max(1, static_cast<int>(1000.0 / bits));
  std::vector<std::int32_t> seen(cells(), 0);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d; ++j)
      if (const std::int32_t code = codes[static_cast<std::size_t>(i) * d + j]; code >= 0) ++seen[first_[j] + code];
  for (int j = 0; j < d; ++j)
    reference_[j] = static_cast<std::int32_t>(std::max_element(seen.begin() + first_[j], seen.begin() + first_[j + 1]) - seen.begin());
  append(codes, n);
}

void Categorical::append(const std::int32_t* codes, int n) {
  const int old = n_;
  n_ += n;
  cells_.resize(static_cast<std::size_t>(n_) * d_);
  log_single_.resize(n_);
  tables_.grow(n_);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d_; ++j) {
      const std::int32_t code = codes[static_cast<std::size_t>(i) * d_ + j];
      cells_[static_cast<std::size_t>(old + i) * d_ + j] = code < 0 ? kMissing : first_[j] + code;
    }
  for (int i = old; i < n_; ++i) derive(i);
}

void Categorical::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const Categorical&>(other);
  if (o.first_ != first_) throw std::invalid_argument("rows must have the same columns and levels");
  put_rows(o.row(0), o.n_, to, d_, cells_, n_);
  tables_.grow(n_);
  for (int i = 0; i < o.n_; ++i) derive(to[i]);
}

void Categorical::derive(int i) {
  const std::int32_t* x = row(i);
  double total = 0.0;
  for (int j = 0; j < d_; ++j) {
    if (x[j] == kMissing) {
      gaps_ += gap_[j] == 0;
      gap_[j] = 1;
    } else {
      total += log_step(x[j], 0) - log_step(cells() + j, 0);
    }
  }
  log_single_[i] = total;
}

std::unique_ptr<Statistics> Categorical::statistics(Layout layout) const {
  return std::make_unique<CategoricalStatistics>(*this, layout);
}

}  // namespace hedgerow
