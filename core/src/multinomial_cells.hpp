// What the two layouts of multinomial counts share: a slot as a list of cells, the form in which they exchange them.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hedgerow/likelihoods/multinomial.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

inline constexpr std::int64_t kMostTokens = 2000000000;

// Tokens, coefficient and Σ_w lnΓ(β+n_w) − lnΓ(β) of a slot.
struct Totals {
  double tokens = 0.0, coefficient = 0.0, rising = 0.0;
};

class CellSource : public Statistics {
 public:
  using Cell = Multinomial::Cell;
  explicit CellSource(const Multinomial& family) : f_(family) {}
  virtual void cells(int slot, std::vector<Cell>& out) = 0;
  virtual Totals& totals(int slot) = 0;
  virtual void fill(int slot, const std::vector<Cell>& cells, const Totals& totals) = 0;

  void load(int slot, Statistics& other, int from) override {
    auto& source = static_cast<CellSource&>(other);
    source.cells(from, loaded_);
    Totals totals = source.totals(from);
    if (source.f_.power() != f_.power()) {  // what is kept of the counts is another power's
      totals.coefficient *= f_.power() / source.f_.power();
      totals.rising = 0.0;
      for (const Cell& c : loaded_) totals.rising += f_.log_rising(c.count);
    }
    fill(slot, loaded_, totals);
  }

  void pack(int slot, std::vector<double>& out) override {
    cells(slot, loaded_);
    const Totals& t = totals(slot);
    out.insert(out.end(), {t.tokens, t.coefficient, t.rising});
    for (const Cell& c : loaded_) out.insert(out.end(), {static_cast<double>(c.column), static_cast<double>(c.count)});
  }

  void unpack(int slot, std::span<const double> data) override {
    if (data.size() < 3 || data.size() % 2 == 0 || !(data[0] >= 0.0 && data[0] <= kMostTokens))
      throw std::invalid_argument("packed statistics of another shape");
    loaded_.clear();
    double tokens = 0.0;
    for (std::size_t i = 3; i < data.size(); i += 2) {
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
      if (next != counts.end() && next->column == w) shape += f_.power() * (next++)->count;
      atom[w] = rng.log_gamma_variate(shape);
    }
    const double total = log_sum(atom, f_.columns());
    for (int w = 0; w < f_.columns(); ++w) atom[w] -= total;
  }

  double log_density(int row, const double* atom) override {
    double total = f_.coefficient(row);
    for (const Cell* c = f_.begin(row); c != f_.end(row); ++c) total += f_.power() * c->count * atom[c->column];
    return total;
  }

 protected:
  const Multinomial& f_;
  std::vector<Cell> loaded_;
};

std::unique_ptr<Statistics> multinomial_table(const Multinomial& family);
std::unique_ptr<Statistics> multinomial_nodes(const Multinomial& family);

}  // namespace hedgerow
