// The passes over one shard; see shard.hpp.
#include "hedgerow/shard.hpp"

#include <algorithm>
#include <stdexcept>

#include "seats.hpp"

namespace hedgerow {
namespace {

enum Purpose : std::uint64_t { kAnchor = 1, kChoice, kBegin, kHalf, kFill = 1 << 20 };

}  // namespace

Shard::Shard(std::shared_ptr<const Likelihood> likelihood, std::int64_t first_row, std::uint64_t seed)
    : likelihood_(std::move(likelihood)),
      first_row_(first_row),
      seed_(seed),
      statistics_(likelihood_->statistics(Layout::nodes)),
      label_(likelihood_->rows(), 0) {
  for (int row : likelihood_->imputed_rows()) {
    gaps_.resize(label_.size(), 0);
    gaps_[row] = 1;
  }
  if (!gaps_.empty()) {
    if (likelihood_->power() != 1.0) throw std::invalid_argument("missing entries are filled in at power 1 only");
    nothing_ = likelihood_->statistics(Layout::nodes);
    nothing_->reset(1);
  }
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
  for (int c = 0; c < k; ++c) known->unpack(c, clusters.set(c));
  const Address choice(seed_, 0, kBegin), fill(seed_, 0, kFill);
  AlignedVector<double> log_p(padded(k));
  for (int i = 0; i < rows(); ++i) {
    known->log_observed_front(i, k, log_p.data());
    double top = -kInf, total = 0.0;
    for (int c = 0; c < k; ++c) top = std::max(top, log_p[c] += log_size[c]);
    for (int c = 0; c < k; ++c) total += log_p[c] = std::exp(log_p[c] - top);
    double left = choice.open(static_cast<std::uint64_t>(first_row_ + i)) * total;
    int chosen = 0;
    while (chosen + 1 < k && (left -= log_p[chosen]) > 0.0) ++chosen;
    label_[i] = chosen;
    if (has_gaps(i)) {
      Rng rng(fill.word(static_cast<std::uint64_t>(first_row_ + i)));
      known->impute(i, chosen, rng);
    }
  }
  side_.clear();
  return tally(k);
}

std::vector<double> Shard::fit(const Packed& clusters, const std::vector<double>& log_size) const {
  const int k = static_cast<int>(log_size.size());
  auto known = likelihood_->statistics(Layout::clusters);
  known->reset(k);
  for (int c = 0; c < k; ++c) known->unpack(c, clusters.set(c));
  AlignedVector<double> log_p(padded(k));
  std::vector<double> out(rows());
  for (int i = 0; i < rows(); ++i) {
    known->log_observed_front(i, k, log_p.data());
    for (int c = 0; c < k; ++c) log_p[c] += log_size[c];
    out[i] = log_sum(log_p.data(), k) - (has_gaps(i) ? nothing_->log_observed(i, 0) : likelihood_->log_single()[i]);
  }
  return out;
}

std::vector<std::uint64_t> Shard::anchors(int k, std::int64_t all_rows, std::uint64_t iteration) const {
  const std::uint64_t first_free = first_free_word(all_rows);
  const Address words(seed_, iteration, kAnchor);
  std::vector<std::uint64_t> out(k, kNoAnchor);
  for (int i = 0; i < rows(); ++i) {
    const std::uint64_t word = words.word(static_cast<std::uint64_t>(first_row_ + i));
    if (label_[i] >= k) throw std::invalid_argument("a label is beyond the clusters");
    if (word < first_free) out[label_[i]] = std::min(out[label_[i]], word);
  }
  return out;
}

Swept Shard::sweep(const Weights& weights, std::uint64_t iteration) {
  const int k = static_cast<int>(weights.anchor.size());
  std::int64_t all_rows = 0;
  for (const std::int64_t size : weights.size) all_rows += size;
  Seats seats(*likelihood_, *statistics_, weights.anchor, weights.size, weights.log_weight, weights.atoms, weights.log_alone,
              first_free_word(all_rows));
  const Address words(seed_, iteration, kAnchor), choices(seed_, iteration, kChoice), fill(seed_, iteration, kFill);
  const auto width = static_cast<std::size_t>(statistics_->atom_size());
  Swept out;
  for (int i = 0; i < rows(); ++i) {
    if (label_[i] >= k) throw std::invalid_argument("a label is beyond the clusters");
    const auto row = static_cast<std::uint64_t>(first_row_ + i);
    int to;
    if (has_gaps(i)) {
      bool alone;
      to = seats.choose_observed(i, words.word(row), label_[i], choices.open(row), nothing_->log_observed(i, 0), alone);
      Rng rng(fill.word(row));
      if (alone) {
        nothing_->impute(i, 0, rng);
      } else {
        statistics_->impute_given(i, weights.atoms + static_cast<std::size_t>(to) * width, rng);
      }
    } else {
      to = seats.choose(i, words.word(row), label_[i], choices.open(row));
    }
    if (to == Seats::kAlone) {
      to = k + static_cast<int>(out.founders.size());
      out.founders.push_back(first_row_ + i);
    }
    out.moved += to != label_[i];
    label_[i] = to;
  }
  side_.clear();
  out.sets = tally(k + static_cast<int>(out.founders.size()));
  return out;
}

Halved Shard::halve(const Proposals& proposals, std::uint64_t iteration, std::uint64_t pass) {
  const int count = static_cast<int>(proposals.act.size()), k = static_cast<int>(proposals.role.size());
  auto launch = likelihood_->statistics(Layout::nodes);
  launch->reset(2 * count);
  for (int s = 0; s < 2 * count; ++s)
    if (const auto set = proposals.launch.set(s); !set.empty()) launch->unpack(s, set);
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

std::vector<double> Shard::fillings() const {
  std::vector<double> out;
  likelihood_->save_imputed(out);
  return out;
}

std::vector<double> Shard::fillings_of(const std::vector<std::int32_t>& rows_of) const {
  std::vector<double> out;
  for (std::int32_t row : rows_of) {
    if (row < 0 || row >= rows()) throw std::invalid_argument("no such row");
    if (has_gaps(row)) likelihood_->save_filling(row, out);
  }
  return out;
}

void Shard::set_fillings(const std::vector<double>& fillings) {
  if (!likelihood_->load_imputed(fillings).empty()) throw std::invalid_argument("there are more fillings than missing entries");
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
