// One conditional sweep over all rows; see slice.hpp for the law it follows.
#include "hedgerow/kernels/slice.hpp"

#include <stdexcept>

#include "seats.hpp"

namespace hedgerow {

void Slice::step(State& state) {
  Partition& partition = state.partition;
  Statistics& statistics = partition.statistics();
  Rng& rng = state.rng;
  const int n = partition.rows(), k = partition.clusters(), width = statistics.atom_size();
  if (width == 0) throw std::invalid_argument("Slice needs a likelihood whose parameters can be drawn; Custom is not one");
  if (!state.measure.trivial_q()) throw std::invalid_argument("Slice handles one measure; use another kernel under a MixedNRM prior");

  const std::uint64_t first_free = first_free_word(n);
  std::vector<std::uint64_t> word(n), anchor(k, kNoAnchor);
  for (int i = 0; i < n; ++i) {
    word[i] = rng.next();
    if (word[i] < first_free) anchor[partition.label(i)] = std::min(anchor[partition.label(i)], word[i]);
  }
  std::vector<double> log_weight(k), atoms(static_cast<std::size_t>(k) * width);
  for (int c = 0; c < k; ++c) {
    log_weight[c] = rng.log_gamma_variate(partition.size(c) - state.measure.sigma()) + state.measure.join_shift(0);
    statistics.draw_atom(c, rng, &atoms[static_cast<std::size_t>(c) * width]);
  }
  const std::vector<std::int64_t> size(partition.sizes().begin(), partition.sizes().begin() + k);
  Seats seats(partition.likelihood(), statistics, anchor, size, log_weight.data(), atoms.data(), state.measure.log_new(0), first_free);
  atoms_count_ = seats.seated();

  moved_ = 0.0;
  std::vector<int> chosen(n), count(k, 0), label(k, -1);
  for (int i = 0; i < n; ++i) {
    chosen[i] = seats.choose(i, word[i], partition.label(i), rng.uniform_open());
    moved_ += chosen[i] != partition.label(i);
    if (chosen[i] != Seats::kAlone) ++count[chosen[i]];
  }
  int next = 0;
  for (int c = 0; c < k; ++c)
    if (count[c] > 0) label[c] = next++;
  for (int& c : chosen) c = c == Seats::kAlone ? next++ : label[c];
  partition.assign(chosen);
}

}  // namespace hedgerow
