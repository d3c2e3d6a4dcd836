// Multinomial counts for one row against all clusters: the counts that 32 clusters have of one word fill a cache line, so a row is
// scored by streaming over its words, 32 clusters at a time.
#include <array>

#include "hedgerow/aligned.hpp"
#include "multinomial_cells.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

// Counts in 16 bits until one of them needs more: the table is what a sweep over documents waits for.
class TileTable {
 public:
  void set_columns(int columns) { columns_ = columns; }
  int capacity() const { return capacity_; }

  void grow(int slots) {
    capacity_ = (slots + kTile - 1) / kTile * kTile;
    if (wide_) return large_.resize(cells(capacity_), 0);
    small_.resize(cells(capacity_), 0);
  }
  void release() {
    capacity_ = 0;
    largest_ = 0;
    wide_ = false;
    small_ = {};
    large_ = {};
  }
  void zero() {
    largest_ = 0;
    std::fill(small_.begin(), small_.end(), std::uint16_t{0});
    std::fill(large_.begin(), large_.end(), 0);
  }

  std::int32_t get(int w, int slot) const {
    const std::size_t i = at(w, slot);
    return wide_ ? large_[i] : small_[i];
  }
  void set(int w, int slot, std::int32_t n) {
    if (!wide_ && n > kNarrow) widen();
    largest_ = std::max(largest_, n);
    const std::size_t i = at(w, slot);
    if (wide_) {
      large_[i] = n;
    } else {
      small_[i] = static_cast<std::uint16_t>(n);
    }
  }

  // out[j] = Σ over the cells of lnΓ(β + ζ(n_j + count)) − lnΓ(β + ζn_j), j < k; out is padded to a multiple of 8.
  void rise(const Multinomial::Cell* first, const Multinomial::Cell* last, int k, const Multinomial& family, double* out) {
    const double beta = family.beta();
    const auto count = static_cast<int>(last - first);
    if (k > kTile) {
      by_count(first, last);
      first = ordered_.data();
    }
    const auto* pairs = reinterpret_cast<const std::int32_t*>(first);
    if (family.power() != 1.0) return rise_power(pairs, count, k, family, out);
    const double zeros = std::max(0.0, -std::log10(beta)), digits = std::log10(beta + largest_ + 16.0);
    for (int from = 0; from < k; from += kTile) {
      const int lanes = std::min(kTile, padded(k - from));
      const std::size_t begin = cells(from);
      if (wide_) {
        simd().rise_large(large_.data() + begin, pairs, count, lanes, beta, digits, zeros, out + from);
      } else {
        simd().rise_small(small_.data() + begin, pairs, count, lanes, beta, digits, zeros, out + from);
      }
    }
  }

 private:
  static constexpr std::int32_t kNarrow = 65535;

  // The same with the factors of another power than 1: looked up where the table reaches, else by Stirling's formula.
  void rise_power(const std::int32_t* pairs, int count, int k, const Multinomial& family, double* out) const {
    const std::vector<double>& factors = family.factors();
    const auto last = static_cast<std::size_t>(largest_) + 16;
    const bool known = last < factors.size();
    const double digits = known ? std::max(std::abs(std::log10(factors.front())), std::abs(std::log10(factors[last]))) : 0.0;
    for (int from = 0; from < k; from += kTile) {
      const int lanes = std::min(kTile, padded(k - from));
      const std::size_t begin = cells(from);
      const Powered how{family.beta(), family.power(), known ? factors.data() : nullptr, digits};
      if (wide_) {
        simd().rise_power_large(large_.data() + begin, pairs, count, lanes, how, out + from);
      } else {
        simd().rise_power_small(small_.data() + begin, pairs, count, lanes, how, out + from);
      }
    }
  }

  // Cells in the order of their counts: the loops over factors then take the same turn every time, for all tiles.
  void by_count(const Multinomial::Cell* first, const Multinomial::Cell* last) {
    constexpr int kKinds = 18;
    std::array<std::ptrdiff_t, kKinds + 1> start{};
    auto kind = [](const Multinomial::Cell& c) { return std::min(c.count, kKinds - 1); };
    for (const auto* c = first; c != last; ++c) ++start[kind(*c) + 1];
    for (int i = 0; i < kKinds; ++i) start[i + 1] += start[i];
    ordered_.resize(last - first);
    for (const auto* c = first; c != last; ++c) ordered_[start[kind(*c)]++] = *c;
  }

  std::size_t cells(int slots) const { return static_cast<std::size_t>(slots) * columns_; }
  std::size_t at(int w, int slot) const {
    return (static_cast<std::size_t>(slot / kTile) * columns_ + w) * kTile + static_cast<std::size_t>(slot % kTile);
  }
  void widen() {
    large_.assign(small_.begin(), small_.end());
    small_ = {};
    wide_ = true;
  }

  int capacity_ = 0, columns_ = 0;
  std::int32_t largest_ = 0;  // that any count has been since the table was empty
  bool wide_ = false;
  AlignedVector<std::uint16_t> small_;
  AlignedVector<std::int32_t> large_;
  std::vector<Multinomial::Cell> ordered_;
};

class MultinomialTable final : public CellSource {
 public:
  explicit MultinomialTable(const Multinomial& family) : CellSource(family), alone_(family.beta() * family.columns()) {
    counts_.set_columns(family.columns());
  }

  int slots() const override { return counts_.capacity(); }

  void reserve(int slots) override {
    if (slots <= counts_.capacity()) return;
    counts_.grow(slots);
    totals_.resize(counts_.capacity());
    mass_.resize(counts_.capacity(), alone_);
    log_normaliser_.resize(counts_.capacity(), 0.0);
  }

  void clear(int slot) override {
    if (totals_[slot].tokens > 0.0)
      for (int w = 0; w < f_.columns(); ++w) counts_.set(w, slot, 0);
    totals_[slot] = {};
    count_tokens(slot);
  }

  void reset(int wanted) override {
    if (counts_.capacity() > 4 * std::max(wanted, kTile)) {
      counts_.release();
      totals_.clear();
      mass_.clear();
      log_normaliser_.clear();
    }
    reserve(wanted);
    counts_.zero();
    std::fill(totals_.begin(), totals_.end(), Totals{});
    std::fill(mass_.begin(), mass_.end(), alone_);
    std::fill(log_normaliser_.begin(), log_normaliser_.end(), 0.0);
  }

  void copy(int slot, int from) override {
    for (int w = 0; w < f_.columns(); ++w) counts_.set(w, slot, counts_.get(w, from));
    totals_[slot] = totals_[from];
    count_tokens(slot);
  }

  void cells(int slot, std::vector<Cell>& out) override {
    out.clear();
    for (int w = 0; w < f_.columns(); ++w)
      if (const std::int32_t n = counts_.get(w, slot); n > 0) out.push_back({w, n});
  }
  Totals& totals(int slot) override { return totals_[slot]; }
  void fill(int slot, const std::vector<Cell>& cells, const Totals& totals) override {
    clear(slot);
    for (const Cell& c : cells) counts_.set(c.column, slot, c.count);
    totals_[slot] = totals;
    count_tokens(slot);
  }

  void add(int slot, int row) override {
    Totals& t = totals_[slot];
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = counts_.get(c->column, slot);
      t.rising += f_.log_rising(n + c->count) - f_.log_rising(n);
      counts_.set(c->column, slot, n + c->count);
    }
    t.tokens += static_cast<double>(f_.total(row));
    t.coefficient += f_.coefficient(row);
    count_tokens(slot);
  }

  bool remove(int slot, int row) override {
    Totals& t = totals_[slot];
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = counts_.get(c->column, slot);
      t.rising -= f_.log_rising(n) - f_.log_rising(n - c->count);
      counts_.set(c->column, slot, n - c->count);
    }
    t.tokens -= static_cast<double>(f_.total(row));
    t.coefficient -= f_.coefficient(row);
    count_tokens(slot);
    return true;
  }

  void merge(int slot, int other) override {
    Totals& t = totals_[slot];
    for (int w = 0; w < f_.columns(); ++w) {
      const std::int32_t o = counts_.get(w, other);
      if (o == 0) continue;
      const std::int32_t n = counts_.get(w, slot);
      t.rising += f_.log_rising(n + o) - f_.log_rising(n);
      counts_.set(w, slot, n + o);
    }
    t.tokens += totals_[other].tokens;
    t.coefficient += totals_[other].coefficient;
    count_tokens(slot);
  }

  double log_marginal(int slot) override {
    const Totals& t = totals_[slot];
    return t.coefficient + t.rising + log_normaliser_[slot];
  }

  double log_predictive(int row, int slot) override {
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = counts_.get(c->column, slot);
      total += f_.log_rising(n + c->count) - f_.log_rising(n);
    }
    return total + normaliser_step(totals_[slot].tokens, row);
  }

  double log_predictive_without(int row, int slot) override {
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = counts_.get(c->column, slot);
      total += f_.log_rising(n) - f_.log_rising(n - c->count);
    }
    return total + normaliser_step(totals_[slot].tokens - static_cast<double>(f_.total(row)), row);
  }

  void log_predictive_front(int row, int k, double* out) override {
    counts_.rise(f_.begin(row), f_.end(row), k, f_, out);
    subtract_rising(k, static_cast<double>(f_.total(row)), f_.coefficient(row), out);
  }

  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
    const Totals t = totals_[slot];
    cells(slot, loaded_);
    int most = 0;
    for (int i = 0; i < k; ++i) most = std::max(most, others[i] + 1);
    if (most > 4 * k) {  // few of many: one by one
      for (int i = 0; i < k; ++i) out[i] = t.coefficient + totals_[others[i]].coefficient + totals_[others[i]].rising;
      for (const auto& [w, n] : loaded_)
        for (int i = 0; i < k; ++i) {
          const std::int32_t o = counts_.get(w, others[i]);
          out[i] += f_.log_rising(o + n) - f_.log_rising(o);
        }
      for (int i = 0; i < k; ++i) out[i] += f_.log_normaliser(t.tokens + totals_[others[i]].tokens);
      return;
    }
    if (static_cast<int>(front_.size()) < padded(most)) front_.resize(padded(most));
    counts_.rise(loaded_.data(), loaded_.data() + loaded_.size(), most, f_, front_.data());
    subtract_rising(most, t.tokens, t.coefficient, front_.data());
    for (int i = 0; i < k; ++i) out[i] = log_marginal(others[i]) + front_[others[i]];
  }

 private:
  // What follows from a slot's tokens.
  void count_tokens(int slot) {
    mass_[slot] = alone_ + f_.power() * totals_[slot].tokens;
    log_normaliser_[slot] = totals_[slot].tokens > 0.0 ? f_.log_normaliser(totals_[slot].tokens) : 0.0;
  }
  void subtract_rising(int k, double tokens, double constant, double* out) const {
    if (f_.power() == 1.0) return simd().subtract_rising(mass_.data(), k, tokens, constant, out);
    simd().subtract_rising_power(mass_.data(), k, f_.power() * tokens, constant, out);
  }
  double normaliser_step(double tokens, int row) const {
    return f_.log_normaliser(tokens + static_cast<double>(f_.total(row))) - f_.log_normaliser(tokens);
  }

  TileTable counts_;
  double alone_;                        // Vβ
  AlignedVector<double> front_, mass_;  // mass: Vβ + ζ tokens
  std::vector<double> log_normaliser_;
  std::vector<Totals> totals_;
};

}  // namespace

std::unique_ptr<Statistics> multinomial_table(const Multinomial& family) { return std::make_unique<MultinomialTable>(family); }

}  // namespace hedgerow
