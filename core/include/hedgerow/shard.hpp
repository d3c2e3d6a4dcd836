// A part of the rows of a larger data set, its labels, and the passes over them that a distributed sampler asks for.
//
// Given the weights and atoms of the clusters, or the statistics of the two halves of a proposed split, rows move independently of
// one another. So a pass needs nothing but numbers that fit in one message, and answers with counts and packed statistics. Every
// random number is a function of (seed, iteration, purpose, global row): how rows are spread over shards changes no draw of a row.
//
// A row with entries that are filled in takes its place in a sweep by the others, and they are drawn anew given the atom of its cluster.
// All other passes take rows as they are filled in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hedgerow/likelihood.hpp"
#include "hedgerow/measure.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

// Random numbers by address.
class Address {
 public:
  Address(std::uint64_t seed, std::uint64_t iteration, std::uint64_t purpose)
      : word_(stir(stir(seed + 0x9E3779B97F4A7C15ull * (iteration + 1)) ^ (0xD1B54A32D192ED03ull * (purpose + 1)))) {}
  std::uint64_t word(std::uint64_t at) const { return stir(stir(word_ + 0x9E3779B97F4A7C15ull * (at + 1)) + word_); }
  // Uniform on (0, 1].
  double open(std::uint64_t at) const { return (static_cast<double>(word(at) >> 11) + 1.0) * 0x1.0p-53; }

 private:
  static std::uint64_t stir(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::uint64_t word_;
};

// Statistics of several sets as plain numbers: set j is packed[start[j] .. start[j+1]).
struct Packed {
  std::vector<std::int64_t> count;  // rows of each set
  std::vector<std::int64_t> start;
  std::vector<double> numbers;
  std::span<const double> set(std::size_t s) const { return std::span(numbers).subspan(start[s], start[s + 1] - start[s]); }
};

// What a sweep needs of the K clusters of all shards; see src/seats.hpp.
struct Weights {
  std::vector<std::uint64_t> anchor;  // the least of what the shards have answered
  std::vector<std::int64_t> size;     // rows of all shards
  const double* log_weight;
  const double* atoms;
  double log_alone;  // log κ(1, u)
};

struct Swept {
  Packed sets;                         // clusters 0..K-1, then the new ones
  std::vector<std::int64_t> founders;  // the global row that each new cluster consists of
  std::int64_t moved = 0;
};

// Split and merge proposals, at most one for any cluster.
struct Proposals {
  enum Act : std::int32_t { draw = 0, keep = 1, evaluate = 2 };
  std::vector<std::int32_t> role;    // per cluster: its proposal, or −1
  std::vector<std::int32_t> side;    // per cluster: the side its rows are on now, for `evaluate`
  std::vector<std::int32_t> act;     // per proposal: halve and forget, halve and remember, or score the halves there are
  std::vector<std::int32_t> even;    // per proposal: 1 when sides are drawn without looking at the rows
  std::vector<std::int64_t> anchor;  // per proposal two global rows, one fixed on each side
  std::vector<double> log_share;     // per proposal and side: log weight
  Packed launch;                     // per proposal and side: statistics; may be empty where `even`
};

struct Halved {
  Packed sets;                // per proposal and side, where drawn
  std::vector<double> log_q;  // per proposal: log probability of the sides, anchors apart
};

class Shard {
 public:
  Shard(std::shared_ptr<const Likelihood> likelihood, std::int64_t first_row, std::uint64_t seed);

  int rows() const { return likelihood_->rows(); }
  const std::vector<std::int32_t>& labels() const { return label_; }
  void set_labels(std::vector<std::int32_t> labels);
  // Statistics of clusters 0..k-1.
  Packed tally(int k);
  // Labels drawn from log_size[c] + log p(x | X_c) given k clusters.
  Packed begin(const Packed& clusters, const std::vector<double>& log_size);
  // How well each row fits these clusters: log Σ_c e^log_size[c] p(x | X_c), over what it would be on its own.
  std::vector<double> fit(const Packed& clusters, const std::vector<double>& log_size) const;
  // The first step of a sweep: by cluster, the word of the anchor that this shard would give it.
  std::vector<std::uint64_t> anchors(int k, std::int64_t all_rows, std::uint64_t iteration) const;
  // One conditional update of all labels.
  Swept sweep(const Weights& weights, std::uint64_t iteration);
  Halved halve(const Proposals& proposals, std::uint64_t iteration, std::uint64_t pass);
  // Row labels c become first[c], or second[c] where the row was put on side 1 of a proposal that was remembered.
  void rename(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& second);
  // Entries that are missing and filled in are part of the state of the rows that have some: those of all rows, or of some in order.
  std::vector<double> fillings() const;
  std::vector<double> fillings_of(const std::vector<std::int32_t>& rows) const;
  void set_fillings(const std::vector<double>& fillings);
  // New labels of single rows.
  void put(const std::vector<std::int32_t>& at, const std::vector<std::int32_t>& labels);

 private:
  Packed pack(int k, const std::vector<std::int64_t>& count);
  bool has_gaps(int row) const { return !gaps_.empty() && gaps_[row]; }

  std::shared_ptr<const Likelihood> likelihood_;
  std::int64_t first_row_;
  std::uint64_t seed_;
  std::unique_ptr<Statistics> statistics_;
  std::unique_ptr<Statistics> nothing_;  // one slot without rows, where there are gaps
  std::vector<char> gaps_;               // by row; empty where nothing is filled in
  std::vector<std::int32_t> label_;
  std::vector<char> side_;  // empty, or the side of every row
};

// Marginal Gibbs sampling of a few rows whose clusters have many more: all rows of `likelihood`, in order, given statistics and
// sizes of all clusters. Clusters that lose their last row keep their number; new ones come after. Returns how many rows moved.
std::int64_t visit(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, std::vector<std::int64_t>& sizes,
                   std::vector<std::int32_t>& labels, Rng& rng);

}  // namespace hedgerow
