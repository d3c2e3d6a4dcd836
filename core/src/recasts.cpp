// Which clusters make a window, the two fits, the choice among tries, and the labels that follow; the ratio is derived in recasts.hpp.
#include "hedgerow/kernels/recasts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr int kTries = 8;                   // parameters drawn about a fit
constexpr std::size_t kMostRows = 1 << 15;  // of a window: memory and time of larger ones would be felt
constexpr double kHopeless = 30.0;          // nats: a window whose chance to be chosen is below e^−30 is met in no run

// How many clusters become how many; every pair is there in both directions.
struct Change {
  int from, to;
};
constexpr Change kChanges[] = {{1, 2}, {2, 1}, {2, 3}, {3, 2}, {3, 4}, {4, 3}, {4, 5}, {5, 4}};

double log_mean(const std::vector<double>& logs) {
  return log_sum(logs.data(), static_cast<int>(logs.size())) - std::log(static_cast<double>(logs.size()));
}

int tries_of(int clusters) { return clusters == 1 ? 1 : kTries; }  // weights of a single cluster are all the same
}  // namespace

void Recasts::attach(State& state) {
  if (of_ == &state.partition.likelihood()) return;
  of_ = &state.partition.likelihood();
  portions_ = of_->portions();
}

// How likely a row of cluster c is to name each of the others: as its full conditional has it, but for a little that even far ones keep.
void Recasts::look_out(State& state, int row) {
  constexpr double kFar = 1e-4;
  Partition& partition = state.partition;
  const int k = partition.clusters(), c = partition.label(row);
  named_.resize(padded(k));
  partition.statistics().log_predictive_front(row, k, named_.data());
  double top = -kInf;
  for (int j = 0; j < k; ++j) {
    named_[j] += std::log(partition.size(j));
    if (j != c) top = std::max(top, named_[j]);
  }
  for (int j = 0; j < k; ++j) {
    const double behind = top - named_[j];
    named_[j] = j == c ? 0.0 : std::exp(-behind) + kFar / ((1.0 + behind) * (1.0 + behind));
  }
}

// The cluster of a row drawn at random, and others one by one: a row drawn from those there are names one that is not.
void Recasts::choose(State& state, int wanted) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int k = partition.clusters();
  taken_.assign(1, partition.label(rng.index(partition.rows())));
  while (static_cast<int>(taken_.size()) < wanted) {
    int rows = 0;
    for (int c : taken_) rows += partition.size(c);
    int at = rng.index(rows);
    std::size_t of = 0;
    while (at >= partition.size(taken_[of])) at -= partition.size(taken_[of++]);
    look_out(state, partition.members(taken_[of])[at]);
    for (int c : taken_) named_[c] = 0.0;
    double left = rng.uniform() * std::accumulate(named_.begin(), named_.begin() + k, 0.0);
    int next = -1;
    for (int j = 0; j < k; ++j) {
      if (named_[j] <= 0.0) continue;
      next = j;
      if ((left -= named_[j]) < 0.0) break;
    }
    taken_.push_back(next);
  }
}

// log P(these clusters are chosen), in whatever order: by the sets that may be there on the way.
double Recasts::log_chosen(State& state, const std::vector<int>& set) {
  const Partition& partition = state.partition;
  const std::size_t m = set.size(), sets = std::size_t{1} << m;
  const int k = partition.clusters();
  // next[s·m + j]: Σ over the rows of s of the chance that they name set[j].
  std::vector<double> next(sets * m, 0.0), to(m);
  for (std::size_t i = 0; i < m && m > 1; ++i)
    for (int row : partition.members(set[i])) {
      look_out(state, row);
      for (std::size_t j = 0; j < m; ++j) to[j] = std::exchange(named_[set[j]], 0.0);
      const double outside = std::accumulate(named_.begin(), named_.begin() + k, 0.0);
      for (std::size_t s = 1; s + 1 < sets; ++s) {
        if (!(s >> i & 1)) continue;
        double total = outside;
        for (std::size_t j = 0; j < m; ++j)
          if (!(s >> j & 1)) total += to[j];
        for (std::size_t j = 0; j < m; ++j)
          if (!(s >> j & 1)) next[s * m + j] += to[j] / total;
      }
    }
  std::vector<double> p(sets, 0.0);
  for (std::size_t i = 0; i < m; ++i) p[std::size_t{1} << i] = static_cast<double>(partition.size(set[i])) / partition.rows();
  for (std::size_t s = 1; s + 1 < sets; ++s) {
    double rows = 0.0;
    for (std::size_t i = 0; i < m; ++i)
      if (s >> i & 1) rows += partition.size(set[i]);
    for (std::size_t j = 0; j < m; ++j)
      if (!(s >> j & 1)) p[s | std::size_t{1} << j] += p[s] * next[s * m + j] / rows;
  }
  return std::log(p.back());
}

// Rows choose among the new clusters; false where one of these stays empty.
bool Recasts::deal(State& state, const Placed& placed, int clusters) {
  const std::size_t n = rows_.size(), room = padded(static_cast<int>(n));
  std::vector<double> p(clusters);
  std::vector<int> count(clusters, 0);
  chosen_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    double top = -kInf, total = 0.0;
    for (int j = 0; j < clusters; ++j) top = std::max(top, p[j] = placed.log_share[j] + placed.log_density[j * room + i]);
    for (double& x : p) total += x = std::exp(x - top);
    double left = state.rng.uniform() * total;
    int j = 0;
    while (j + 1 < clusters && (left -= p[j]) >= 0.0) ++j;
    chosen_[i] = j;
    ++count[j];
  }
  return *std::min_element(count.begin(), count.end()) > 0;
}

// The present clusters as parameters drawn given their rows.
void Recasts::place_present(State& state, double sigma) {
  const std::size_t n = rows_.size();
  const int m = static_cast<int>(taken_.size());
  portions_->open(rows_, m);
  atom_.resize(portions_->atom_size());
  const std::size_t room = padded(static_cast<int>(n));
  mine_.assign(room, 0.0);
  present_.log_density.resize(room * m);
  std::vector<double> shapes(m);
  for (int j = 0; j < m; ++j) {
    for (std::size_t i = 0; i < n; ++i) mine_[i] = state.partition.label(rows_[i]) == taken_[j];
    portions_->weigh(j, mine_.data());
    portions_->draw_atom(j, state.rng, atom_.data());
    portions_->log_densities(atom_.data(), present_.log_density.data() + j * room);
    shapes[j] = state.partition.size(taken_[j]) - sigma;
  }
  draw_log_shares(state.rng, shapes, present_.log_share);
}

// The partition in which the rows of the window are in the clusters drawn for them; returns these.
std::vector<int> Recasts::put(State& state, int clusters) {
  Partition& partition = state.partition;
  const int k = partition.clusters();
  before_ = labels_ = partition.labels();
  std::vector<int> of(clusters), number(k + clusters, -1);
  for (int j = 0; j < clusters; ++j) of[j] = j < static_cast<int>(taken_.size()) ? taken_[j] : k + j;
  for (std::size_t i = 0; i < rows_.size(); ++i) labels_[rows_[i]] = of[chosen_[i]];
  for (int c = 0; c < k; ++c) number[c] = 0;
  for (int c : taken_) number[c] = -1;
  for (int c : of) number[c] = 0;
  int next = 0;
  for (int& c : number)
    if (c == 0) c = next++;
  for (int& label : labels_) label = number[label];
  partition.assign(labels_);
  for (int& c : of) c = number[c];
  return of;
}

double Recasts::work(const Partition& partition) {
  constexpr double kPasses = 38.0, kWindow = 2.5, kFitted = 5.0;  // as measured; clusters of a window, and of its two fits together
  double size = 0.0;                                              // of the cluster of a row
  for (int m : partition.sizes()) size += static_cast<double>(m) * m / partition.rows();
  return kPasses * kFitted * std::min(kWindow * size, static_cast<double>(partition.rows()));
}

void Recasts::move(State& state) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const auto [from, to] = kChanges[rng.index(static_cast<int>(std::size(kChanges)))];
  if (from > partition.clusters()) return;
  choose(state, from);
  rows_.clear();
  for (int c : taken_) rows_.insert(rows_.end(), partition.members(c).begin(), partition.members(c).end());
  std::sort(rows_.begin(), rows_.end());
  if (static_cast<int>(rows_.size()) < to || rows_.size() > kMostRows) return;
  ++proposed_;
  const double log_accept = std::log(rng.uniform_open());
  const double sigma = state.measure.sigma(), log_alone = state.measure.log_kappa(1) - lgamma(1.0 - sigma);
  place_present(state, sigma);

  if (!fit_.fit(rng, *portions_, rows_, to, sigma, log_alone)) return;
  std::vector<double> there(tries_of(to)), back(tries_of(from));
  tries_.resize(std::max(tries_.size(), there.size()));
  for (std::size_t t = 0; t < there.size(); ++t) there[t] = fit_.draw(rng, tries_[t]);
  if (!fit_.fit(rng, *portions_, rows_, from, sigma, log_alone)) return;
  back[0] = fit_.log_weight(present_);
  for (std::size_t t = 1; t < back.size(); ++t) back[t] = fit_.draw(rng, other_);

  const double mass_there = log_mean(there), mass_back = log_mean(back);
  if (!(log_accept < mass_there - mass_back + kHopeless)) return;
  const double log_r = mass_there - mass_back - log_chosen(state, taken_);
  if (!(log_accept < log_r)) return;  // the way back has a chance of at most one
  double left = rng.uniform() * static_cast<double>(there.size());
  std::size_t chosen = 0;
  while (chosen + 1 < there.size() && (left -= std::exp(there[chosen] - mass_there)) >= 0.0) ++chosen;
  if (!deal(state, tries_[chosen], to)) return;
  const std::vector<int> fresh = put(state, to);
  if (log_accept < log_r + log_chosen(state, fresh)) {
    ++accepted_;
  } else {
    partition.assign(before_);
  }
}

}  // namespace hedgerow
