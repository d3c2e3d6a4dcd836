// The passes over one shard; see shard.hpp.
#include "hedgerow/shard.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "atom_panel.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {

constexpr std::int64_t kMostJumps = 20000000;
constexpr double kFarBelow = 40.0;  // e^-40 of the best is never drawn
constexpr double kCut = 4.0;        // slices lie below kCut / b: clusters of four rows or more are always looked at
constexpr int kListed = 6;          // octaves whose jumps every row may look at: y = bw above 1/64
enum Purpose : std::uint64_t { kSlice = 1, kChoice, kOctave, kAtom, kReservoir, kBegin, kHalf };

[[noreturn]] void too_many_jumps() {
  throw std::runtime_error(
      "more than twenty million jumps of the measure lie above the slices, as happens when sigma is large. Fix a smaller sigma");
}

// Points of the intensity in y = bw between 2^(-k-1) and 2^-k (octave k + 1), or above 1 (octave 0), left to right. The points of
// an octave are a function of its address alone, so every shard finds the same ones and looks only as deep as its own slices go.
class Octave {
 public:
  Octave(double log_front, double sigma, int number, Rng rng)
      : sigma_(sigma), head_(number == 0), y_(number == 0 ? 1.0 : std::ldexp(1.0, -number)), high_(2.0 * y_), rng_(rng) {
    if (!head_) log_rate_ = log_front - (1.0 + sigma) * std::log(y_) - y_;
    low_ = y_;
    log_front_ = log_front;
  }

  // The next point, or +∞ when there is none.
  double next() {
    for (;;) {
      if (head_) {  // beyond y the intensity is at most its power there times e^-y, whose next point has a closed form
        const double log_mass = log_front_ - (1.0 + sigma_) * std::log(y_) - y_;
        const double used = rng_.exponential() * std::exp(-log_mass);
        if (used >= 1.0) return kInf;
        const double from = y_;
        y_ -= std::log1p(-used);
        if (std::log(rng_.uniform_open()) < -(1.0 + sigma_) * std::log(y_ / from)) return y_;
      } else {
        y_ += rng_.exponential() * std::exp(-log_rate_);
        if (!(y_ < high_)) return kInf;
        if (std::log(rng_.uniform_open()) < -(1.0 + sigma_) * std::log(y_ / low_) - (y_ - low_)) return y_;
      }
    }
  }

 private:
  double sigma_;
  bool head_;
  double y_, high_;
  Rng rng_;
  double low_ = 0.0, log_front_ = 0.0, log_rate_ = 0.0;
};

}  // namespace

Shard::Shard(std::shared_ptr<const Likelihood> likelihood, std::int64_t first_row, std::uint64_t seed)
    : likelihood_(std::move(likelihood)),
      first_row_(first_row),
      seed_(seed),
      statistics_(likelihood_->statistics(Layout::nodes)),
      label_(likelihood_->rows(), 0) {
  if (statistics_->atom_size() == 0) throw std::invalid_argument("a likelihood whose parameters can be drawn is needed");
}

void Shard::set_labels(std::vector<std::int32_t> labels) {
  if (labels.size() != label_.size()) throw std::invalid_argument("labels must have one entry per row");
  for (std::int32_t c : labels)
    if (c < 0) throw std::invalid_argument("labels must not be negative");
  label_ = std::move(labels);
  side_.clear();
}

Packed Shard::pack(int k, const std::vector<std::int64_t>& count) {
  Packed out;
  out.count = count;
  out.start.assign(1, 0);
  for (int c = 0; c < k; ++c) {
    if (count[c] > 0) statistics_->pack(c, out.numbers);
    out.start.push_back(static_cast<std::int64_t>(out.numbers.size()));
  }
  return out;
}

Packed Shard::tally(int k) {
  statistics_->reset(k);
  std::vector<std::int64_t> count(k, 0);
  for (int i = 0; i < rows(); ++i) {
    if (label_[i] >= k) throw std::invalid_argument("a label is beyond the clusters");
    statistics_->add(label_[i], i);
    ++count[label_[i]];
  }
  return pack(k, count);
}

Packed Shard::begin(const Packed& clusters, const std::vector<double>& log_size) {
  const int k = static_cast<int>(log_size.size());
  auto known = likelihood_->statistics(Layout::clusters);
  known->reset(k);
  for (int c = 0; c < k; ++c)
    known->unpack(c, clusters.numbers.data() + clusters.start[c], static_cast<std::size_t>(clusters.start[c + 1] - clusters.start[c]));
  const Address choice(seed_, 0, kBegin);
  AlignedVector<double> log_p(padded(k));
  for (int i = 0; i < rows(); ++i) {
    known->log_predictive_front(i, k, log_p.data());
    double top = -kInf, total = 0.0;
    for (int c = 0; c < k; ++c) top = std::max(top, log_p[c] += log_size[c]);
    for (int c = 0; c < k; ++c) total += log_p[c] = std::exp(log_p[c] - top);
    double left = choice.open(static_cast<std::uint64_t>(first_row_ + i)) * total;
    int chosen = 0;
    while (chosen + 1 < k && (left -= log_p[chosen]) > 0.0) ++chosen;
    label_[i] = chosen;
  }
  side_.clear();
  return tally(k);
}

std::vector<double> Shard::fit(const Packed& clusters, const std::vector<double>& log_size) const {
  const int k = static_cast<int>(log_size.size());
  auto known = likelihood_->statistics(Layout::clusters);
  known->reset(k);
  for (int c = 0; c < k; ++c)
    known->unpack(c, clusters.numbers.data() + clusters.start[c], static_cast<std::size_t>(clusters.start[c + 1] - clusters.start[c]));
  AlignedVector<double> log_p(padded(k));
  std::vector<double> out(rows());
  for (int i = 0; i < rows(); ++i) {
    known->log_predictive_front(i, k, log_p.data());
    for (int c = 0; c < k; ++c) log_p[c] += log_size[c];
    out[i] = log_sum(log_p.data(), k) - likelihood_->log_single()[i];
  }
  return out;
}

// One jump offered to the rows whose slice lies below it; a row keeps one of those offered so far, each with probability
// proportional to its density.
void Shard::offer(const double* atom, std::int64_t name, double log_weight, std::uint64_t iteration) {
  const Address reservoir(Address(seed_, iteration, kReservoir).word(static_cast<std::uint64_t>(name)), iteration, kReservoir);
  for (Newcomer& low : low_) {
    if (log_slice_[low.row] >= log_weight) return;
    const double density = statistics_->log_density(low.row, atom);
    const double before = low.log_total;
    low.log_total = log_add(before, density);
    const double u = reservoir.open(static_cast<std::uint64_t>(first_row_ + low.row));
    if (before == -kInf || std::log(u) < density - low.log_total) low.name = name;
  }
}

// Jumps that no row sits on, octave by octave, as deep as the lowest slice of this shard. Those of the first octaves go into the
// list that every row looks through; the many below them are offered to the few rows that lie so low.
void Shard::draw_jumps(const Weights& weights, std::uint64_t iteration, std::vector<Candidate>& list, std::vector<double>& list_atoms,
                       Swept& out) {
  const double log_front = std::log(weights.alpha) + weights.sigma * weights.log_rate - lgamma(1.0 - weights.sigma);
  const double deep = -weights.log_rate - kListed * std::log(2.0);
  low_.clear();
  double lowest = kInf;
  for (int i = 0; i < rows(); ++i) {
    lowest = std::min(lowest, log_slice_[i]);
    if (log_slice_[i] < deep) low_.push_back({-kInf, -1, i});
  }
  std::sort(low_.begin(), low_.end(), [&](const Newcomer& a, const Newcomer& b) {
    return log_slice_[a.row] != log_slice_[b.row] ? log_slice_[a.row] < log_slice_[b.row] : a.row < b.row;
  });
  statistics_->reset(1);  // slot 0 is empty: atoms come from the base measure
  std::vector<double> atom(statistics_->atom_size());
  const Address octaves(seed_, iteration, kOctave), atoms(seed_, iteration, kAtom);
  for (int number = 0; number == 0 || std::log(2.0) * (1 - number) - weights.log_rate > lowest; ++number) {
    if (number > 1000) too_many_jumps();
    Octave octave(log_front, weights.sigma, number, Rng(octaves.word(static_cast<std::uint64_t>(number))));
    std::int64_t index = 0;
    for (double y = octave.next(); y < kInf; y = octave.next()) {
      if (++out.jumps > kMostJumps) too_many_jumps();
      const double log_weight = std::log(y) - weights.log_rate;
      const std::int64_t name = (static_cast<std::int64_t>(number) << 32) | index++;
      if (!(log_weight > lowest)) continue;
      Rng rng(atoms.word(static_cast<std::uint64_t>(name)));
      statistics_->draw_atom(0, rng, atom.data());
      if (number > kListed) {
        offer(atom.data(), name, log_weight, iteration);
      } else {
        list.push_back({log_weight, -1, name});
        list_atoms.insert(list_atoms.end(), atom.begin(), atom.end());
      }
    }
  }
}

// Slices lie below min(w, ζ) rather than below w (Kalli, Griffin & Walker 2011, with this choice of ξ): a row of a heavy cluster
// looks at every atom of weight ζ or more, and moves in proportion to weight times density. ζ = y/b is a multiple of the scale of
// the jumps, given before any label is drawn.
Swept Shard::sweep(const Weights& weights, std::uint64_t iteration) {
  const int n = rows(), k = weights.clusters, width = statistics_->atom_size();
  const double log_cut = std::log(kCut) - weights.log_rate;
  Swept out;
  log_slice_.resize(n);
  const Address slices(seed_, iteration, kSlice), choices(seed_, iteration, kChoice);
  for (int i = 0; i < n; ++i) {
    if (label_[i] >= k) throw std::invalid_argument("a label is beyond the clusters");
    log_slice_[i] =
        std::min(weights.log_weight[label_[i]], log_cut) + std::log(slices.open(static_cast<std::uint64_t>(first_row_ + i)));
  }
  std::vector<Candidate> list;
  for (int c = 0; c < k; ++c) list.push_back({weights.log_weight[c], c, -1});
  std::vector<double> loose(weights.atoms, weights.atoms + static_cast<std::size_t>(k) * width);
  draw_jumps(weights, iteration, list, loose, out);

  // Heaviest first: a row looks at atoms until they fall below its slice.
  const int count = static_cast<int>(list.size());
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return list[a].log_weight > list[b].log_weight; });
  std::vector<double> ceiling(count), excess(count), sorted(static_cast<std::size_t>(count) * width);
  for (int j = 0; j < count; ++j) {
    ceiling[j] = std::min(list[order[j]].log_weight, log_cut);
    excess[j] = std::max(list[order[j]].log_weight - log_cut, 0.0);
    std::copy_n(loose.begin() + static_cast<std::ptrdiff_t>(order[j]) * width, width,
                sorted.begin() + static_cast<std::ptrdiff_t>(j) * width);
  }
  AtomPanel panel(*likelihood_, *statistics_);
  panel.load(sorted.data(), excess.data(), count);
  std::vector<int> position(k);
  for (int j = 0; j < count; ++j)
    if (order[j] < k) position[order[j]] = j;

  std::unordered_map<int, std::size_t> newcomer;  // of a row to which at least one deep jump was offered
  for (std::size_t j = 0; j < low_.size(); ++j)
    if (low_[j].name >= 0) newcomer.emplace(low_[j].row, j);
  std::unordered_map<std::int64_t, int> slot;
  const auto label_of = [&](std::int64_t name) {
    const int at = slot.try_emplace(name, static_cast<int>(slot.size())).first->second;
    if (at == static_cast<int>(out.new_names.size())) out.new_names.push_back(name);
    return static_cast<std::int32_t>(k + at);
  };
  AlignedVector<double> p(padded(count + 8));
  std::vector<std::int32_t> chosen(n);
  const int always =
      static_cast<int>(std::partition_point(ceiling.begin(), ceiling.end(), [&](double c) { return c >= log_cut; }) - ceiling.begin());
  for (int i = 0; i < n; ++i) {
    int above = always;
    while (above < count && ceiling[above] > log_slice_[i]) ++above;
    panel.log_densities(i, above, position[label_[i]], kFarBelow, p.data());
    double top = -kInf, total = 0.0;
    for (int j = 0; j < above; ++j) top = std::max(top, p[j]);
    const auto met = newcomer.empty() ? newcomer.end() : newcomer.find(i);
    const double fresh = met == newcomer.end() ? -kInf : low_[met->second].log_total;
    top = std::max(top, fresh);
    chosen[i] = label_[i];
    if (top == -kInf) continue;
    for (int j = 0; j < above; ++j) total += p[j] = p[j] > top - kFarBelow ? std::exp(p[j] - top) : 0.0;
    const double mass = total + (fresh == -kInf ? 0.0 : std::exp(fresh - top));
    double left = choices.open(static_cast<std::uint64_t>(first_row_ + i)) * mass;
    if (left > total) {
      chosen[i] = label_of(low_[met->second].name);
      continue;
    }
    int last = -1;
    for (int j = 0; j < above; ++j) {
      if (p[j] <= 0.0) continue;
      last = j;
      if ((left -= p[j]) <= 0.0) break;
    }
    const Candidate& taken = list[order[last]];
    chosen[i] = taken.cluster >= 0 ? taken.cluster : label_of(taken.name);
  }
  for (int i = 0; i < n; ++i) out.moved += chosen[i] != label_[i];
  label_.swap(chosen);
  side_.clear();
  out.sets = tally(k + static_cast<int>(out.new_names.size()));
  return out;
}

Halved Shard::halve(const Proposals& proposals, std::uint64_t iteration, std::uint64_t pass) {
  const int count = static_cast<int>(proposals.act.size()), k = static_cast<int>(proposals.role.size());
  auto launch = likelihood_->statistics(Layout::nodes);
  launch->reset(2 * count);
  for (int s = 0; s < 2 * count; ++s) {
    const std::int64_t from = proposals.launch.start[s], size = proposals.launch.start[s + 1] - from;
    if (size > 0) launch->unpack(s, proposals.launch.numbers.data() + from, static_cast<std::size_t>(size));
  }
  Halved out;
  out.log_q.assign(count, 0.0);
  std::vector<std::int64_t> rows_of(2 * static_cast<std::size_t>(count), 0);
  statistics_->reset(2 * count);
  const bool remember = std::find(proposals.act.begin(), proposals.act.end(), Proposals::keep) != proposals.act.end();
  if (remember) side_.assign(rows(), 0);
  const Address coins(seed_, iteration, kHalf + pass);
  for (int i = 0; i < rows(); ++i) {
    const int c = label_[i];
    if (c >= k) throw std::invalid_argument("a label is beyond the clusters");
    const int p = proposals.role[c];
    if (p < 0) continue;
    const std::int64_t row = first_row_ + i;
    const bool scoring = proposals.act[p] == Proposals::evaluate;
    int side;
    if (row == proposals.anchor[2 * p] || row == proposals.anchor[2 * p + 1]) {
      side = row == proposals.anchor[2 * p + 1];
    } else {
      double log_odds = proposals.log_share[2 * p + 1] - proposals.log_share[2 * p];  // of side 1
      if (!proposals.even[p]) log_odds += launch->log_predictive(i, 2 * p + 1) - launch->log_predictive(i, 2 * p);
      const double up = log_odds > 0.0 ? -std::log1p(std::exp(-log_odds)) : log_odds - std::log1p(std::exp(log_odds));
      if (scoring) {
        side = proposals.side[c];
      } else {
        side = std::log(coins.open(static_cast<std::uint64_t>(row))) < up;
      }
      out.log_q[p] += side ? up : up - log_odds;
    }
    if (scoring) continue;
    statistics_->add(2 * p + side, i);
    ++rows_of[2 * p + side];
    if (proposals.act[p] == Proposals::keep) side_[i] = static_cast<char>(side);
  }
  out.sets = pack(2 * count, rows_of);
  return out;
}

void Shard::rename(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& second) {
  for (int i = 0; i < rows(); ++i) {
    const auto c = static_cast<std::size_t>(label_[i]);
    if (c >= first.size() || c >= second.size()) throw std::invalid_argument("a label is beyond the clusters");
    const std::int32_t now = !side_.empty() && side_[i] ? second[c] : first[c];
    if (now < 0) throw std::invalid_argument("a cluster that has rows cannot vanish");
    label_[i] = now;
  }
  side_.clear();
}

void Shard::put(const std::vector<std::int32_t>& at, const std::vector<std::int32_t>& labels) {
  if (at.size() != labels.size()) throw std::invalid_argument("every row needs a label");
  for (std::size_t j = 0; j < at.size(); ++j) {
    if (at[j] < 0 || at[j] >= rows() || labels[j] < 0) throw std::invalid_argument("no such row or label");
    label_[at[j]] = labels[j];
  }
}

// A row whose leaving would cost the statistics of its cluster their digits stays, and one that would be such a row where it goes
// does not go: the two rule out the same moves in both directions.
std::int64_t visit(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, std::vector<std::int64_t>& sizes,
                   std::vector<std::int32_t>& labels, Rng& rng) {
  int k = static_cast<int>(sizes.size());
  AlignedVector<double> p;
  std::int64_t moved = 0;
  for (int row = 0; row < likelihood.rows(); ++row) {
    const int own = labels[row];
    statistics.reserve(k + 3);
    const int spare = k + 1, trial = k + 2;
    p.resize(padded(k + 8));
    statistics.log_predictive_front(row, k, p.data());
    double top = -kInf, total = 0.0;
    for (int c = 0; c < k; ++c) {
      const std::int64_t m = sizes[c] - (c == own);
      if (m == 0) {
        p[c] = -kInf;
        continue;
      }
      if (c == own) p[c] = statistics.log_predictive_without(row, c);
      top = std::max(top, p[c] += std::log(static_cast<double>(m) - measure.sigma()) + measure.join_shift(0));
    }
    top = std::max(top, p[k] = measure.log_new(0) + likelihood.log_single()[row]);
    for (int c = 0; c <= k; ++c) total += p[c] = std::exp(p[c] - top);
    const int to = draw_index(rng, p.data(), k + 1, total);
    if (to == own || (to == k && sizes[own] == 1)) continue;
    statistics.copy(spare, own);
    if (sizes[own] == 1) {
      statistics.clear(own);
    } else if (!statistics.remove(own, row)) {
      statistics.copy(own, spare);
      continue;
    }
    if (to == k) {
      statistics.clear(k);
    } else {
      statistics.copy(trial, to);
      statistics.add(trial, row);
      if (!statistics.remove(trial, row)) {
        statistics.copy(own, spare);
        continue;
      }
    }
    statistics.add(to, row);
    --sizes[own];
    if (to == k) {
      sizes.push_back(0);
      ++k;
    }
    ++sizes[to];
    labels[row] = to;
    ++moved;
  }
  return moved;
}

}  // namespace hedgerow
