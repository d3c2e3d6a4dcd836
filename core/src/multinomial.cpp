// Counts of clusters, in two layouts: one column-major table for row-against-all-clusters work, and one sparse
// vector per slot for trees.
#include "hedgerow/likelihoods/multinomial.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hedgerow/aligned.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

constexpr std::int64_t kTable = 1 << 16;
constexpr std::int64_t kMostTokens = 2000000000;
constexpr const char* kTooMany = "the counts must sum to less than 2e9";
using Cell = Multinomial::Cell;

// What both layouts share: tokens, coefficient and Σ_w lnΓ(β+n_w) − lnΓ(β) per slot.
struct Totals {
  double tokens = 0.0, coefficient = 0.0, rising = 0.0;
};

// A slot as a list of cells, the form in which the two layouts exchange them.
class CellSource : public Statistics {
 public:
  explicit CellSource(const Multinomial& family) : f_(family) {}
  virtual void cells(int slot, std::vector<Cell>& out) = 0;
  virtual Totals& totals(int slot) = 0;
  virtual void fill(int slot, const std::vector<Cell>& cells, const Totals& totals) = 0;

  void load(int slot, Statistics& other, int from) override {
    auto& source = static_cast<CellSource&>(other);
    source.cells(from, loaded_);
    fill(slot, loaded_, source.totals(from));
  }

  void pack(int slot, std::vector<double>& out) override {
    cells(slot, loaded_);
    const Totals& t = totals(slot);
    out.insert(out.end(), {t.tokens, t.coefficient, t.rising});
    for (const Cell& c : loaded_) out.insert(out.end(), {static_cast<double>(c.column), static_cast<double>(c.count)});
  }

  void unpack(int slot, const double* data, std::size_t size) override {
    if (size < 3 || size % 2 == 0 || !(data[0] >= 0.0 && data[0] <= kMostTokens)) throw std::invalid_argument("packed statistics of another shape");
    loaded_.clear();
    double tokens = 0.0;
    for (std::size_t i = 3; i < size; i += 2) {
      const bool good = data[i] >= 0.0 && data[i] < f_.columns() && data[i + 1] >= 0.0 && data[i + 1] <= kMostTokens &&
                        data[i] == std::floor(data[i]) && data[i + 1] == std::floor(data[i + 1]) && (i == 3 || data[i - 2] < data[i]);
      if (!good) throw std::invalid_argument("packed statistics of another shape");
      loaded_.push_back({static_cast<std::int32_t>(data[i]), static_cast<std::int32_t>(data[i + 1])});
      tokens += data[i + 1];
    }
    if (tokens != data[0]) throw std::invalid_argument("packed statistics of another shape");
    fill(slot, loaded_, {data[0], data[1], data[2]});
  }

  bool same_counts(int slot, int other) override {
    std::vector<Cell> theirs;
    cells(other, theirs);
    cells(slot, loaded_);
    for (auto* list : {&theirs, &loaded_}) std::erase_if(*list, [](const Cell& c) { return c.count == 0; });
    auto alike = [](const Cell& a, const Cell& b) { return a.column == b.column && a.count == b.count; };
    return std::equal(theirs.begin(), theirs.end(), loaded_.begin(), loaded_.end(), alike);
  }

  // θ = log probabilities of the columns, Dirichlet given the counts.
  int atom_size() const override { return f_.columns(); }

  void draw_atom(int slot, Rng& rng, double* atom) override {
    std::vector<Cell> counts;
    cells(slot, counts);
    auto next = counts.begin();
    for (int w = 0; w < f_.columns(); ++w) {
      double shape = f_.beta();
      if (next != counts.end() && next->column == w) shape += (next++)->count;
      atom[w] = rng.log_gamma_variate(shape);
    }
    const double total = log_sum(atom, f_.columns());
    for (int w = 0; w < f_.columns(); ++w) atom[w] -= total;
  }

  double log_density(int row, const double* atom) override {
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) total += c->count * atom[c->column];
    return total;
  }

 protected:
  const Multinomial& f_;
  std::vector<Cell> loaded_;
};

// counts_[column · capacity + slot]: the K counts of one word lie together, so a row is scored against all clusters by
// streaming over its words.
class MultinomialTable final : public CellSource {
 public:
  explicit MultinomialTable(const Multinomial& family) : CellSource(family) {}

  int slots() const override { return capacity_; }

  void reserve(int slots) override {
    if (slots <= capacity_) return;
    const int grown = padded(std::max({slots, capacity_ + capacity_ / 2, 16}));
    AlignedVector<std::int32_t> counts(static_cast<std::size_t>(grown) * f_.columns(), 0);
    for (int w = 0; w < f_.columns(); ++w)
      std::copy_n(counts_.begin() + static_cast<std::ptrdiff_t>(w) * capacity_, capacity_, counts.begin() + static_cast<std::ptrdiff_t>(w) * grown);
    counts_ = std::move(counts);
    totals_.resize(grown);
    capacity_ = grown;
  }

  void clear(int slot) override {
    if (totals_[slot].tokens > 0.0)
      for (int w = 0; w < f_.columns(); ++w) at(w, slot) = 0;
    totals_[slot] = {};
  }

  void reset(int wanted) override {
    if (capacity_ > 4 * padded(wanted)) {
      capacity_ = 0;
      counts_ = {};
      totals_.clear();
    }
    reserve(wanted);
    std::fill(counts_.begin(), counts_.end(), 0);
    std::fill(totals_.begin(), totals_.end(), Totals{});
  }

  void copy(int slot, int from) override {
    for (int w = 0; w < f_.columns(); ++w) at(w, slot) = at(w, from);
    totals_[slot] = totals_[from];
  }

  void cells(int slot, std::vector<Cell>& out) override {
    out.clear();
    for (int w = 0; w < f_.columns(); ++w)
      if (const std::int32_t n = at(w, slot); n > 0) out.push_back({w, n});
  }
  Totals& totals(int slot) override { return totals_[slot]; }
  void fill(int slot, const std::vector<Cell>& cells, const Totals& totals) override {
    clear(slot);
    for (const Cell& c : cells) at(c.column, slot) = c.count;
    totals_[slot] = totals;
    peak_ = std::max(peak_, totals.tokens);
  }

  void add(int slot, int row) override {
    Totals& t = totals_[slot];
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      std::int32_t& n = at(c->column, slot);
      t.rising += f_.log_rising(n + c->count) - f_.log_rising(n);
      n += c->count;
    }
    t.tokens += static_cast<double>(f_.total(row));
    t.coefficient += f_.coefficient(row);
  }

  bool remove(int slot, int row) override {
    Totals& t = totals_[slot];
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      std::int32_t& n = at(c->column, slot);
      t.rising -= f_.log_rising(n) - f_.log_rising(n - c->count);
      n -= c->count;
    }
    t.tokens -= static_cast<double>(f_.total(row));
    t.coefficient -= f_.coefficient(row);
    return true;
  }

  void merge(int slot, int other) override {
    Totals& t = totals_[slot];
    for (int w = 0; w < f_.columns(); ++w) {
      const std::int32_t o = at(w, other);
      if (o == 0) continue;
      std::int32_t& n = at(w, slot);
      t.rising += f_.log_rising(n + o) - f_.log_rising(n);
      n += o;
    }
    t.tokens += totals_[other].tokens;
    t.coefficient += totals_[other].coefficient;
  }

  double log_marginal(int slot) override {
    const Totals& t = totals_[slot];
    return t.coefficient + t.rising + f_.log_normaliser(t.tokens);
  }

  double log_predictive(int row, int slot) override {
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = at(c->column, slot);
      total += f_.log_rising(n + c->count) - f_.log_rising(n);
    }
    return total + normaliser_step(totals_[slot].tokens, row);
  }

  double log_predictive_without(int row, int slot) override {
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = at(c->column, slot);
      total += f_.log_rising(n) - f_.log_rising(n - c->count);
    }
    return total + normaliser_step(totals_[slot].tokens - static_cast<double>(f_.total(row)), row);
  }

  void log_predictive_front(int row, int k, double* out) override {
    set_factors();
    const int width = padded(k);
    acc_.assign(width, 1.0);
    for (int j = 0; j < width; ++j) out[j] = 0.0;
    int held = 0;
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t* cells = &counts_[static_cast<std::size_t>(c->column) * capacity_];
      if (c->count > 12) {
        for (int j = 0; j < k; ++j) out[j] += f_.log_rising(cells[j] + c->count) - f_.log_rising(cells[j]);
        continue;
      }
      if (held + c->count > factors_) {
        simd().flush_log(acc_.data(), width, out);
        held = 0;
      }
      simd().rising_product(cells, width, f_.beta(), c->count, acc_.data());
      held += c->count;
    }
    simd().flush_log(acc_.data(), width, out);
    const double coefficient = f_.coefficient(row);
    for (int j = 0; j < k; ++j) out[j] += coefficient + normaliser_step(totals_[j].tokens, row);
  }

  void log_marginal_merged(int slot, const int* others, int k, double* out) override {
    cells(slot, loaded_);
    const Totals& t = totals_[slot];
    for (int i = 0; i < k; ++i) out[i] = t.coefficient + totals_[others[i]].coefficient + totals_[others[i]].rising;
    for (const auto& [w, n] : loaded_) {
      const std::int32_t* row = &counts_[static_cast<std::size_t>(w) * capacity_];
      for (int i = 0; i < k; ++i) out[i] += f_.log_rising(row[others[i]] + n) - f_.log_rising(row[others[i]]);
    }
    for (int i = 0; i < k; ++i) out[i] += f_.log_normaliser(t.tokens + totals_[others[i]].tokens);
  }

 private:
  std::int32_t& at(int w, int slot) { return counts_[static_cast<std::size_t>(w) * capacity_ + slot]; }
  // Factors multiplied before a logarithm is taken: their product must stay inside the range of doubles.
  void set_factors() {
    const double most = peak_ + static_cast<double>(f_.grand_total());
    if (most <= covered_) return;
    covered_ = most;
    const double widest = std::max({std::abs(std::log10(f_.beta())), std::log10(f_.beta() + most + 1.0), 1.0});
    factors_ = std::max(1, static_cast<int>(280.0 / widest));
  }
  double normaliser_step(double tokens, int row) const {
    return f_.log_normaliser(tokens + static_cast<double>(f_.total(row))) - f_.log_normaliser(tokens);
  }

  int capacity_ = 0, factors_ = 1;
  double covered_ = -1.0, peak_ = 0.0;
  AlignedVector<std::int32_t> counts_;
  AlignedVector<double> acc_;
  std::vector<Totals> totals_;
};

// One vector per slot: sorted cells while they are few, a dense array once they are many.
class MultinomialNodes final : public CellSource {
 public:
  explicit MultinomialNodes(const Multinomial& family) : CellSource(family) {}

  int slots() const override { return static_cast<int>(nodes_.size()); }
  void reserve(int slots) override {
    if (slots <= this->slots()) return;
    nodes_.resize(std::max(slots, std::min(2 * this->slots(), this->slots() + (1 << 20))));
  }
  void clear(int slot) override { nodes_[slot] = {}; }
  void copy(int slot, int from) override { nodes_[slot] = nodes_[from]; }

  void cells(int slot, std::vector<Cell>& out) override {
    const Node& node = nodes_[slot];
    out = node.cells;
    if (node.dense.empty()) return;
    for (int w = 0; w < f_.columns(); ++w)
      if (node.dense[w] > 0) out.push_back({w, node.dense[w]});
  }
  Totals& totals(int slot) override { return nodes_[slot].totals; }
  void fill(int slot, const std::vector<Cell>& cells, const Totals& totals) override {
    Node& node = nodes_[slot];
    node = {};
    node.cells = cells;
    node.totals = totals;
    if (4 * node.cells.size() > static_cast<std::size_t>(f_.columns())) spread(node);
  }

  void add(int slot, int row) override {
    Node& node = nodes_[slot];
    combine(node, f_.begin(row), f_.end(row));
    node.totals.tokens += static_cast<double>(f_.total(row));
    node.totals.coefficient += f_.coefficient(row);
  }

  bool remove(int slot, int row) override {
    Node& node = nodes_[slot];
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      std::int32_t& n = *find(node, c->column);
      node.totals.rising -= f_.log_rising(n) - f_.log_rising(n - c->count);
      n -= c->count;
    }
    if (node.dense.empty()) std::erase_if(node.cells, [](const Cell& c) { return c.count == 0; });
    node.totals.tokens -= static_cast<double>(f_.total(row));
    node.totals.coefficient -= f_.coefficient(row);
    return true;
  }

  void merge(int slot, int other) override {
    Node& node = nodes_[slot];
    const Node& o = nodes_[other];
    if (o.dense.empty()) {
      combine(node, o.cells.data(), o.cells.data() + o.cells.size());
    } else {
      spread(node);
      for (int w = 0; w < f_.columns(); ++w) {
        if (o.dense[w] == 0) continue;
        node.totals.rising += f_.log_rising(node.dense[w] + o.dense[w]) - f_.log_rising(node.dense[w]);
        node.dense[w] += o.dense[w];
      }
    }
    node.totals.tokens += o.totals.tokens;
    node.totals.coefficient += o.totals.coefficient;
  }

  double log_marginal(int slot) override {
    const Totals& t = nodes_[slot].totals;
    return t.coefficient + t.rising + f_.log_normaliser(t.tokens);
  }

  double log_predictive(int row, int slot) override {
    const Node& node = nodes_[slot];
    double total = f_.coefficient(row) + rise(node, f_.begin(row), f_.end(row));
    const double tokens = node.totals.tokens;
    return total + f_.log_normaliser(tokens + static_cast<double>(f_.total(row))) - f_.log_normaliser(tokens);
  }

  double log_predictive_without(int row, int slot) override {
    Node& node = nodes_[slot];
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) {
      const std::int32_t n = *find(node, c->column);
      total += f_.log_rising(n) - f_.log_rising(n - c->count);
    }
    const double tokens = node.totals.tokens - static_cast<double>(f_.total(row));
    return total + f_.log_normaliser(node.totals.tokens) - f_.log_normaliser(tokens);
  }

  void log_predictive_front(int row, int k, double* out) override {
    for (int s = 0; s < k; ++s) out[s] = log_predictive(row, s);
  }

  void log_marginal_merged(int slot, const int* others, int k, double* out) override {
    const Node& a = nodes_[slot];
    for (int i = 0; i < k; ++i) {
      const Node& b = nodes_[others[i]];
      // Walk over the shorter list, look up in the longer.
      const bool walk_a = a.dense.empty() && (!b.dense.empty() || a.cells.size() <= b.cells.size());
      double rising;
      if (walk_a) {
        rising = b.totals.rising + rise(b, a.cells.data(), a.cells.data() + a.cells.size());
      } else if (b.dense.empty()) {
        rising = a.totals.rising + rise(a, b.cells.data(), b.cells.data() + b.cells.size());
      } else {
        rising = a.totals.rising;
        for (int w = 0; w < f_.columns(); ++w)
          if (b.dense[w] > 0) rising += f_.log_rising(a.dense[w] + b.dense[w]) - f_.log_rising(a.dense[w]);
      }
      out[i] = a.totals.coefficient + b.totals.coefficient + rising + f_.log_normaliser(a.totals.tokens + b.totals.tokens);
    }
  }

 private:
  struct Node {
    Totals totals;
    std::vector<Cell> cells;
    std::vector<std::int32_t> dense;
  };

  std::int32_t* find(Node& node, std::int32_t column) {
    if (!node.dense.empty()) return &node.dense[column];
    return &std::lower_bound(node.cells.begin(), node.cells.end(), column, before)->count;
  }
  static bool before(const Cell& c, std::int32_t column) { return c.column < column; }

  void spread(Node& node) const {
    if (!node.dense.empty()) return;
    node.dense.assign(f_.columns(), 0);
    for (const Cell& c : node.cells) node.dense[c.column] = c.count;
    std::vector<Cell>().swap(node.cells);
  }

  // Σ over the given cells of what they add to the node's lnΓ sum.
  double rise(const Node& node, const Cell* first, const Cell* last) const {
    double total = 0.0;
    if (!node.dense.empty()) {
      for (; first != last; ++first) {
        const std::int32_t n = node.dense[first->column];
        total += f_.log_rising(n + first->count) - f_.log_rising(n);
      }
      return total;
    }
    auto it = node.cells.begin();
    for (; first != last; ++first) {
      it = std::lower_bound(it, node.cells.end(), first->column, before);
      const std::int32_t n = it != node.cells.end() && it->column == first->column ? it->count : 0;
      total += f_.log_rising(n + first->count) - f_.log_rising(n);
    }
    return total;
  }

  void combine(Node& node, const Cell* first, const Cell* last) {
    node.totals.rising += rise(node, first, last);
    if (node.dense.empty() && 4 * (node.cells.size() + (last - first)) > static_cast<std::size_t>(f_.columns())) spread(node);
    if (!node.dense.empty()) {
      for (; first != last; ++first) node.dense[first->column] += first->count;
      return;
    }
    merged_.clear();
    auto it = node.cells.begin();
    for (; first != last; ++first) {
      while (it != node.cells.end() && it->column < first->column) merged_.push_back(*it++);
      Cell cell = *first;
      if (it != node.cells.end() && it->column == cell.column) cell.count += (it++)->count;
      merged_.push_back(cell);
    }
    merged_.insert(merged_.end(), it, node.cells.end());
    node.cells = merged_;
  }

  std::vector<Node> nodes_;
  std::vector<Cell> merged_;
};

}  // namespace

Multinomial::Multinomial(const std::int64_t* indptr, const std::int32_t* indices, const double* counts, int n, int columns, double beta)
    : columns_(columns), beta_(beta), log_gamma_beta_(lgamma(beta)), log_gamma_total_(lgamma(beta * columns)) {
  append(indptr, indices, counts, n);
}

void Multinomial::append(const std::int64_t* indptr, const std::int32_t* indices, const double* counts, int n) {
  const int old = rows();
  for (int i = 0; i < n; ++i) {
    std::int64_t total = 0;
    double logs = 0.0;
    for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
      const auto count = static_cast<std::int64_t>(counts[k]);
      cells_.push_back({indices[k], static_cast<std::int32_t>(count)});
      total += count;
      logs += lgamma(static_cast<double>(count) + 1.0);
    }
    start_.push_back(static_cast<std::int64_t>(cells_.size()) - (indptr[i + 1] - indptr[i]));
    length_.push_back(static_cast<std::int32_t>(indptr[i + 1] - indptr[i]));
    totals_.push_back(total);
    coefficients_.push_back(lgamma(static_cast<double>(total) + 1.0) - logs);
    grand_total_ += total;
  }
  if (grand_total_ > kMostTokens) throw std::invalid_argument(kTooMany);
  grow_table();
  log_single_.resize(rows());
  for (int i = old; i < rows(); ++i) {
    double value = coefficients_[i] + log_normaliser(static_cast<double>(totals_[i]));
    for (const Cell* c = begin(i); c != end(i); ++c) value += log_rising(c->count);
    log_single_[i] = value;
  }
}

void Multinomial::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const Multinomial&>(other);
  if (o.columns_ != columns_) throw std::invalid_argument("rows must have the same number of columns");
  if (grand_total_ + o.grand_total_ > kMostTokens) throw std::invalid_argument(kTooMany);
  grand_total_ += o.grand_total_;
  grow_table();
  for (int i = 0; i < o.rows(); ++i) {
    if (to[i] >= rows()) {
      start_.push_back(0);
      length_.push_back(0);
      totals_.push_back(0);
      coefficients_.push_back(0.0);
      log_single_.push_back(0.0);
    }
    unused_ += length_[to[i]];
    if (o.length_[i] > length_[to[i]]) {
      start_[to[i]] = static_cast<std::int64_t>(cells_.size());
      cells_.insert(cells_.end(), o.begin(i), o.end(i));
    } else {
      std::copy(o.begin(i), o.end(i), cells_.begin() + start_[to[i]]);
      unused_ -= o.length_[i];
    }
    length_[to[i]] = o.length_[i];
    totals_[to[i]] = o.totals_[i];
    coefficients_[to[i]] = o.coefficients_[i];
    log_single_[to[i]] = o.log_single_[i];
  }
  if (2 * unused_ > static_cast<std::int64_t>(cells_.size())) compact();
}

// Cells of replaced rows leave holes; close them once they are half of all.
void Multinomial::compact() {
  std::vector<Cell> kept;
  kept.reserve(cells_.size() - static_cast<std::size_t>(unused_));
  for (int i = 0; i < rows(); ++i) {
    const auto at = static_cast<std::int64_t>(kept.size());
    kept.insert(kept.end(), begin(i), end(i));
    start_[i] = at;
  }
  cells_ = std::move(kept);
  unused_ = 0;
}

void Multinomial::grow_table() {
  const std::int64_t wanted = std::min(kTable, grand_total_ + 2);
  const std::vector<double> kept = std::move(table_);
  std::vector<double> grown(kept);
  table_.clear();
  for (auto c = static_cast<std::int64_t>(grown.size()); c < wanted; ++c) grown.push_back(log_rising(c));
  table_ = std::move(grown);
}

double Multinomial::log_rising(std::int64_t c) const {
  if (static_cast<std::uint64_t>(c) < table_.size()) return table_[c];
  return lgamma(beta_ + static_cast<double>(c)) - log_gamma_beta_;
}

double Multinomial::log_normaliser(double tokens) const { return log_gamma_total_ - lgamma(beta_ * columns_ + tokens); }

std::unique_ptr<Statistics> Multinomial::statistics(Layout layout) const {
  if (layout == Layout::clusters) return std::make_unique<MultinomialTable>(*this);
  return std::make_unique<MultinomialNodes>(*this);
}

}  // namespace hedgerow
