// Multinomial counts for trees: one vector per slot, of sorted cells while they are few, a dense array once they are many.
#include "multinomial_cells.hpp"

namespace hedgerow {
namespace {

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

  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
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

std::unique_ptr<Statistics> multinomial_nodes(const Multinomial& family) { return std::make_unique<MultinomialNodes>(family); }

}  // namespace hedgerow
