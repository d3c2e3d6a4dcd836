// A conditional sweep: rows choose among the clusters there are, or a cluster of their own, independently of one another.
//
// Every row has a random word that no partition changes. Rows whose word is at or above `kFree` of all words are free, the others are
// bound. A cluster with bound rows is seated: the bound row of least word is its anchor, and its weight and atom are explicit. Given
// anchors, weights and atoms,
//   an anchor stays,
//   a bound row chooses among the seated clusters whose anchor precedes it, in proportion to w_c L(x | θ_c),
//   a free row of a seated cluster, or alone, chooses among all seated clusters, or to be alone, which weighs κ(1, u) p(x),
//   a cluster of several free rows stays as it is.
// After the move the anchors are the same rows and the same clusters stay as they are, so this is a draw from the conditional
// distribution of the labels given all the rest. No atom without rows is ever needed. A row with entries that are filled in may choose
// by its other entries alone, if those are then drawn given what it chose.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "atom_panel.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {

constexpr std::uint64_t kNoAnchor = ~std::uint64_t{0};

// The first word of the free rows. At most some 20,000 are expected: a poor start would let every one of them found a cluster.
inline std::uint64_t first_free_word(std::int64_t rows) {
  const double share = std::min(0.5, 2e4 / static_cast<double>(rows));
  return static_cast<std::uint64_t>((1.0 - share) * 0x1.0p64);
}

class Seats {
 public:
  static constexpr int kAlone = -1;

  // Per cluster: the word of its anchor or kNoAnchor, rows in all, log weight and atom; the last two are read where there is an anchor.
  Seats(const Likelihood& likelihood, Statistics& statistics, const std::vector<std::uint64_t>& anchor,
        const std::vector<std::int64_t>& size, const double* log_weight, const double* atoms, double log_alone,
        std::uint64_t first_free)
      : log_single_(likelihood.log_single()),
        statistics_(statistics),
        panel_(likelihood, statistics),
        anchor_(anchor),
        size_(size),
        place_(anchor.size(), -1),
        log_alone_(log_alone),
        first_free_(first_free) {
    const auto width = static_cast<std::size_t>(statistics.atom_size());
    for (std::size_t c = 0; c < anchor.size(); ++c)
      if (anchor[c] != kNoAnchor) order_.push_back(static_cast<int>(c));
    std::sort(order_.begin(), order_.end(), [&](int a, int b) { return anchor[a] < anchor[b]; });
    for (int c : order_) {
      place_[c] = static_cast<int>(word_.size());
      word_.push_back(anchor[c]);
      extra_.push_back(log_weight[c]);
      atoms_.insert(atoms_.end(), atoms + c * width, atoms + (c + 1) * width);
    }
    panel_.load(atoms_.data(), extra_.data(), seated());
    p_.resize(padded(seated()) + 8);
  }

  int seated() const { return static_cast<int>(order_.size()); }

  // The new cluster of a row of cluster `own`, or kAlone where it founds one; `uniform` lies in (0, 1].
  int choose(int row, std::uint64_t word, int own, double uniform) {
    const bool free = word >= first_free_;
    if (place_[own] < 0 ? size_[own] > 1 : word == anchor_[own]) return own;
    const int wanted = free ? seated() : static_cast<int>(std::lower_bound(word_.begin(), word_.end(), word) - word_.begin());
    if (wanted == 0) return own;
    panel_.log_densities(row, wanted, std::max(place_[own], 0), kFarBelow, p_.data());
    return draw(own, wanted, free ? log_alone_ + log_single_[row] : -kInf, uniform);
  }

  // The same by the entries of a row that are there, of which `log_single` is the log density alone. Says in `alone` whether the row
  // is by itself by its own choice, founded or stayed.
  int choose_observed(int row, std::uint64_t word, int own, double uniform, double log_single, bool& alone) {
    alone = false;
    const bool free = word >= first_free_;
    if (place_[own] < 0 ? size_[own] > 1 : word == anchor_[own]) return own;
    const int wanted = free ? seated() : static_cast<int>(std::lower_bound(word_.begin(), word_.end(), word) - word_.begin());
    const auto width = static_cast<std::size_t>(statistics_.atom_size());
    for (int j = 0; j < wanted; ++j)
      p_[j] = extra_[j] + statistics_.log_observed_density(row, &atoms_[static_cast<std::size_t>(j) * width]);
    const int to = draw(own, wanted, free ? log_alone_ + log_single : -kInf, uniform);
    alone = to == kAlone || place_[to] < 0;
    return to;
  }

 private:
  static constexpr double kFarBelow = 40.0;  // e^-40 of the best is never drawn

  int draw(int own, int wanted, double alone, double uniform) {
    double top = alone, total = 0.0;
    for (int j = 0; j < wanted; ++j) top = std::max(top, p_[j]);
    if (top == -kInf) return own;
    for (int j = 0; j < wanted; ++j) total += p_[j] = p_[j] > top - kFarBelow ? std::exp(p_[j] - top) : 0.0;
    double left = uniform * (total + std::exp(alone - top));
    if (left > total) return place_[own] < 0 ? own : kAlone;
    int last = -1;
    for (int j = 0; j < wanted; ++j) {
      if (p_[j] <= 0.0) continue;
      last = j;
      if ((left -= p_[j]) <= 0.0) break;
    }
    return order_[last];
  }

  const std::vector<double>& log_single_;
  Statistics& statistics_;
  AtomPanel panel_;
  const std::vector<std::uint64_t>& anchor_;
  const std::vector<std::int64_t>& size_;
  std::vector<int> order_, place_;  // seated clusters by the word of their anchor, and where each cluster is among them
  std::vector<std::uint64_t> word_;
  AlignedVector<double> p_;
  std::vector<double> extra_, atoms_;
  double log_alone_;
  std::uint64_t first_free_;
};

}  // namespace hedgerow
