// A conjugate family bound to its data, and the sufficient statistics of many clusters under it.
//
// Every algorithm of the core is written against these two classes. Calls are virtual but batched: one call
// evaluates a row against many clusters, so the dispatch costs nothing measurable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hedgerow/portions.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

// How a Statistics object will be used; the answers do not depend on it, the speed does.
enum class Layout {
  clusters,  // slots 0..K-1 in use, one row against all of them at a time (Gibbs)
  nodes,     // very many slots, few touched at a time (trees)
};

// Sufficient statistics of disjoint sets of rows ("slots"), and log p(X_slot) and its differences.
class Statistics {
 public:
  virtual ~Statistics() = default;

  virtual int slots() const = 0;
  virtual void reserve(int slots) = 0;  // at least this many slots exist; new ones are empty
  virtual void clear(int slot) = 0;
  // Everything empty, with room for at least this many slots; memory beyond may be given back.
  virtual void reset(int wanted) {
    reserve(wanted);
    for (int s = 0; s < slots(); ++s) clear(s);
  }
  virtual void copy(int slot, int from) = 0;
  // Copies a slot of another Statistics of the same family and hyper-parameters, whatever its layout, its rows and its power.
  virtual void load(int slot, Statistics& other, int from) = 0;
  virtual void add(int slot, int row) = 0;
  // After a reset: row i into slot slots[i], unless that is negative, for all rows at once.
  virtual void add_each(std::span<const int> slots) {
    for (int row = 0; row < static_cast<int>(slots.size()); ++row)
      if (slots[row] >= 0) add(slots[row], row);
  }
  // False asks the owner to rebuild the slot from its rows: rounding would have mattered.
  [[nodiscard]] virtual bool remove(int slot, int row) = 0;
  virtual void merge(int slot, int other) = 0;  // slot becomes the union of the two disjoint sets

  // A slot as plain numbers, appended to `out`, and back.
  virtual void pack(int slot, std::vector<double>& out) = 0;
  virtual void unpack(int slot, std::span<const double> data) = 0;
  // Whether two slots hold the same counts. A row is taken out of a slot by looking its counts up there, so slots that come from a
  // file are held to what their rows add up to. Real numbers lead nowhere, and rounding makes them differ.
  virtual bool same_counts(int slot, int other) { return (void)slot, (void)other, true; }

  virtual void prefetch(int slot) const { (void)slot; }  // the slot will be read soon

  virtual double log_marginal(int slot) = 0;                           // log p(X_slot)
  virtual double log_predictive(int row, int slot) = 0;                // log p(x_row | X_slot), row outside
  virtual double log_predictive_without(int row, int slot) = 0;        // log p(x_row | X_slot minus row), row inside
  virtual void log_predictive_front(int row, int k, double* out) = 0;  // slots 0..k-1; out padded to a multiple of 8
  // log p(X_slot ∪ X_other) for each of the others
  virtual void log_marginal_merged(int slot, std::span<const int> others, double* out) = 0;

  // A row with entries that are missing and filled in (Likelihood::imputed_rows), outside the slot: log p(its other entries | X_slot), and
  // those entries drawn from what they are given the others and the slot; returns the log density of the draw. Below power 1 the first is
  // no density but the integral over those entries, and `whole` draws them as if rows counted whole, which is nearer to the slot.
  virtual double log_observed(int row, int slot) { return log_predictive(row, slot); }
  virtual void log_observed_front(int row, int k, double* out) { log_predictive_front(row, k, out); }
  virtual double impute(int row, int slot, Rng& rng, bool whole = false) { return (void)row, (void)slot, (void)rng, (void)whole, 0.0; }
  // What a row counts beyond that below power ζ = 1: (1 − ζ) log p(the entries as filled in | the others) under the base measure, the slot
  // being an empty one. They are the cluster's as far as the row counts and the base measure's else; without, rows that lack the same
  // entries could be together as far out as they please.
  virtual double log_tilt(int row, int empty) { return (void)row, (void)empty, 0.0; }

  // Explicit parameters, for conditional samplers: how many doubles an atom θ takes (0: this family has none), a draw of it
  // given the rows of a slot (an empty slot: from the base measure), and log L(x_row | θ).
  virtual int atom_size() const { return 0; }
  virtual void draw_atom(int slot, Rng& rng, double* atom) { (void)slot, (void)rng, (void)atom; }
  virtual double log_density(int row, const double* atom) { return (void)row, (void)atom, 0.0; }
  // The same of a row with entries that are filled in, by its other entries alone, and a draw of those entries given the others and θ.
  // At power 1.
  virtual double log_observed_density(int row, const double* atom) { return log_density(row, atom); }
  virtual void impute_given(int row, const double* atom, Rng& rng) { (void)row, (void)atom, (void)rng; }
};

class GuideShelf;

// What is grown from the rows of one object; a copy, whose rows may come to differ, begins with none.
class OwnShelf {
 public:
  OwnShelf();
  OwnShelf(const OwnShelf&) : OwnShelf() {}
  OwnShelf& operator=(const OwnShelf&) { return *this; }
  GuideShelf& operator*() const { return *shelf_; }

 private:
  std::shared_ptr<GuideShelf> shelf_;
};

class Likelihood {
 public:
  explicit Likelihood(double power = 1.0) : power_(power) {}
  virtual ~Likelihood() = default;
  // The power that the density of every row is raised to. Slots hold whole rows whatever it is; it comes in where they are scored.
  double power() const { return power_; }
  virtual int rows() const = 0;
  virtual std::unique_ptr<Statistics> statistics(Layout layout) const = 0;
  // The same for rows that count in part; nullptr where the family does not know them.
  virtual std::unique_ptr<Portions> portions() const { return nullptr; }
  // log p(x_row), the marginal of one row alone; fixed but for rows that are filled in, so computed once.
  const std::vector<double>& log_single() const { return log_single_; }
  // Takes in the rows of another object of the same family and hyper-parameters, row i as row to[i]: a new one at the end
  // (to[i] == rows() by then), or in place of one that no slot needs any more. Throws before anything is changed.
  virtual void take(const Likelihood& other, const int* to) = 0;
  // Missing entries that no formula integrates over are filled in by draws: they are part of a chain's state. The rows that have some, in
  // order; a copy with fillings of its own that shares the rows, nullptr where there are none; and the fillings as plain numbers.
  virtual std::vector<int> imputed_rows() const { return {}; }
  virtual std::shared_ptr<Likelihood> fork() const { return nullptr; }
  virtual void save_filling(int row, std::vector<double>& out) const { (void)row, (void)out; }
  virtual std::span<const double> load_filling(int row, std::span<const double> in) const {
    return (void)row, in;
  }  // returns what is left
  void save_imputed(std::vector<double>& out) const {
    for (int row : imputed_rows()) save_filling(row, out);
  }
  std::span<const double> load_imputed(std::span<const double> in) const {
    for (int row : imputed_rows()) in = load_filling(row, in);
    return in;
  }

  // Guides that chains over these rows have in common (grown_guide.hpp).
  GuideShelf& guides() const { return *guides_; }

  // True when callbacks into an interpreter make one-thread-at-a-time the only way.
  virtual bool serial() const { return false; }

 protected:
  // What every `take` begins with: room for `n` rows of `width` entries at the numbers `to`, and the rows copied there.
  template <class Rows, class Entry>
  void put_rows(const Entry* from, int n, const int* to, int width, Rows& rows, int& count) {
    for (int i = 0; i < n; ++i) count = std::max(count, to[i] + 1);
    rows.resize(static_cast<std::size_t>(count) * width);
    log_single_.resize(count);
    for (int i = 0; i < n; ++i)
      std::copy_n(from + static_cast<std::ptrdiff_t>(i) * width, width, rows.begin() + static_cast<std::ptrdiff_t>(to[i]) * width);
  }
  mutable std::vector<double> log_single_;  // Statistics::impute changes that of its row
  double power_;

 private:
  OwnShelf guides_;
};

inline int padded(int k) { return (k + 7) & ~7; }

}  // namespace hedgerow
