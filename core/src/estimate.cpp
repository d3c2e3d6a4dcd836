// The search for the partition of least expected loss.
#include "hedgerow/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace hedgerow {

namespace {

constexpr double kNoRoom = 1e-12;    // of all pairs: both partitions are then the same trivial one
constexpr double kRounding = 1e-11;  // a gain this small beside the largest step of the point is rounding
constexpr double kRoundingAdjusted = 1e-13;

double pairs(double count) { return 0.5 * count * (count - 1.0); }

}  // namespace

PartitionSearch::PartitionSearch(const NarrowLabels& draws, const std::int64_t* copies, const double* weights, const double* f,
                                 bool adjusted, double joining)
    : n_draws_(draws.draws),
      n_points_(draws.points),
      adjusted_(adjusted),
      joining_(joining),
      copies_(copies, copies + draws.points),
      weights_(weights, weights + draws.draws),
      labels_(draws.points, -1) {
  for (std::int64_t m : copies_) {
    if (m < 1) throw std::invalid_argument("copies must be 1 or more");
    n_rows_ += m;
    pairs_within_ += pairs(static_cast<double>(m));
  }
  if (!(joining > 0.0 && joining < 2.0)) throw std::invalid_argument("joining must lie between 0 and 2");
  if (n_rows_ > INT32_MAX) throw std::invalid_argument("copies must add up to fewer than 2^31 rows");
  f_.assign(f, f + n_rows_ + 1);
  all_pairs_ = std::max(1.0, pairs(static_cast<double>(n_rows_)));
  draw_pairs_.assign(n_draws_, 0.0);
  auto cells = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(n_draws_) * n_points_);
  auto cell_weights = std::make_shared<std::vector<double>>(1, 0.0);
  for (int d = 0; d < n_draws_; ++d) {
    const int clusters = clusters_of(draws, d);
    widest_draw_ = std::max(widest_draw_, clusters);
    std::vector<std::int64_t> size(clusters, 0);
    std::vector<int> met(clusters, 0), number(clusters, 0);
    draws.with(d, [&](const auto* draw) {
      for (int i = 0; i < n_points_; ++i) {
        size[draw[i]] += copies_[i];
        ++met[draw[i]];
      }
    });
    for (int l = 0; l < clusters; ++l) {
      draw_pairs_[d] += pairs(static_cast<double>(size[l]));
      if (met[l] < 2) continue;  // of a point alone, nothing is ever shared
      number[l] = static_cast<int>(n_cells_++);
      cell_weights->push_back(weights_[d]);
    }
    draws.with(d, [&](const auto* draw) {
      for (int i = 0; i < n_points_; ++i) (*cells)[static_cast<std::size_t>(i) * n_draws_ + d] = number[draw[i]];
    });
  }
  cells_ = std::move(cells);
  cell_weights_ = std::move(cell_weights);
  table_.resize(n_cells_);
  clear();
}

void PartitionSearch::clear() {
  for (auto& row : table_) row.clear();
  std::fill(labels_.begin(), labels_.end(), -1);
  sizes_.assign(1, 0);
  score_.assign(1, 0.0);
  occupied_ = 0;
  joint_pairs_.assign(n_draws_, pairs_within_);
  own_pairs_ = pairs_within_;
  ++version_;
}

void PartitionSearch::load(const std::int32_t* labels) {
  const int clusters = clusters_of(labels, n_points_);
  clear();
  sizes_.assign(clusters + 1, 0);
  score_.assign(clusters + 1, 0.0);
  for (int i = 0; i < n_points_; ++i) place(i, labels[i]);
}

// An empty column: there is always one more than clusters.
int PartitionSearch::free_column() {
  if (open_ < static_cast<int>(sizes_.size()) && sizes_[open_] == 0) return open_;
  const auto found = std::find(sizes_.begin(), sizes_.end(), 0);
  open_ = static_cast<int>(found - sizes_.begin());
  if (found == sizes_.end()) {
    sizes_.push_back(0);
    score_.push_back(0.0);
    ++version_;  // what is weighed by column has one column less
  }
  return open_;
}

// Adds a point to a column (sign 1) or takes it out again (-1).
void PartitionSearch::shift(int point, int column, int sign) {
  const std::int64_t m = copies_[point];
  const std::int32_t* cell = cells(point);
  if (sign < 0) sizes_[column] -= m;
  if (sizes_[column] == 0) occupied_ += sign;
  const double fm = f_[m];
  double shared = 0.0;
  for (int d = 0; d < n_draws_; ++d) {
    if (cell[d] == 0) continue;
    std::vector<Entry>& row = table_[cell[d]];
    std::size_t at = 0;
    while (at < row.size() && row[at].column != column) ++at;
    if (at == row.size()) row.push_back({column, 0, 0.0});
    Entry& entry = row[at];
    const std::int64_t others = entry.count - (sign < 0 ? m : 0);
    joint_pairs_[d] += sign * static_cast<double>(m) * static_cast<double>(others);
    shared += weights_[d] * g(f_[others + m], f_[others], fm);
    const std::int64_t now = others + (sign > 0 ? m : 0);
    entry.count = static_cast<std::int32_t>(now);
    if (now == 0) {
      entry = row.back();
      row.pop_back();
    } else {
      entry.gain = weights_[d] * g(f_[std::min(now + 1, n_rows_)], f_[now], f_[1]);
    }
  }
  change_ += sign * (joining_ * g(f_[sizes_[column] + m], f_[sizes_[column]], fm) - 2.0 * shared);
  own_pairs_ += sign * static_cast<double>(m) * static_cast<double>(sizes_[column]);
  if (sign > 0) sizes_[column] += m;
  labels_[point] = sign > 0 ? column : -1;
  ++version_;
}

// score_ becomes the loss of putting the point into each column, own_score_ that of where it is (alone, if it is out).
void PartitionSearch::met_separable(int point) {
  const std::int64_t m = copies_[point];
  const int own = labels_[point];
  const std::int32_t* cell = cells(point);
  double* score = score_.data();
  std::fill(score_.begin(), score_.end(), 0.0);
  double at_home = 0.0;
  const double fm = f_[m];
  for (int d = 0; d < n_draws_; ++d) {
    if (cell[d] == 0) continue;
    const std::vector<Entry>& row = table_[cell[d]];
    std::int64_t here = m;  // rows at home, the point's own among them
    if (m == 1) {
      for (const Entry& e : row) {
        score[e.column] += e.gain;
        here = e.column == own ? e.count : here;
      }
    } else {
      const double w = weights_[d];
      for (const Entry& e : row) {
        const std::int64_t top = std::min(e.count + m, n_rows_);  // beyond it only at home, where it is not used
        score[e.column] += w * g(f_[top], f_[e.count], fm);
        here = e.column == own ? e.count : here;
      }
    }
    at_home += weights_[d] * g(f_[here], f_[here - m], fm);
  }
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    const std::int64_t size = sizes_[k];
    score[k] = static_cast<int>(k) == own ? 0.0 : joining_ * g(f_[size + m], f_[size], fm) - 2.0 * score[k];
  }
  own_score_ = 0.0;
  if (own >= 0) score[own] = own_score_ = joining_ * g(f_[sizes_[own]], f_[sizes_[own] - m], fm) - 2.0 * at_home;
}

// For a point of m rows in column `own`: weight over room of every draw in one column, and the loss there without its joint
// pairs. Kept until something moves.
void PartitionSearch::weigh_pairs(int column, int own, std::int64_t m) {
  if (weighed_version_ != version_ || weighed_column_ != own || weighed_copies_ != m) {
    weighed_.assign(sizes_.size(), 0);
    worth_.resize(sizes_.size() * n_draws_);
    rest_.resize(sizes_.size());
    weighed_version_ = version_;
    weighed_column_ = own;
    weighed_copies_ = m;
  }
  if (weighed_[column]) return;
  weighed_[column] = 1;
  const double rows = static_cast<double>(m);
  const double elsewhere = own_pairs_ - (own >= 0 ? rows * static_cast<double>(sizes_[own] - m) : 0.0);
  const double after = elsewhere + rows * static_cast<double>(sizes_[column] - (column == own ? m : 0));
  double* worth = worth_.data() + static_cast<std::size_t>(column) * n_draws_;
  double rest = 0.0;
  for (int d = 0; d < n_draws_; ++d) {
    const double expected = after * (draw_pairs_[d] / all_pairs_);
    const double room = 0.5 * (after + draw_pairs_[d]) - expected;
    const bool fits = room > kNoRoom * all_pairs_;
    worth[d] = fits ? weights_[d] / room : 0.0;
    rest -= fits ? worth[d] * (joint_pairs_[d] - expected) : weights_[d];
  }
  rest_[column] = rest;
}

void PartitionSearch::met_adjusted(int point, int open) {
  const std::int64_t m = copies_[point];
  const int own = labels_[point];
  const std::int32_t* cell = cells(point);
  const std::size_t draws = n_draws_;
  met_.clear();
  shared_.clear();
  left_.assign(draws, 0.0);  // joint pairs, by row of the point, that go when it leaves its column
  const auto meet = [&](int column) {
    if (slot_[column] < 0) {
      slot_[column] = static_cast<int>(met_.size());
      met_.push_back(column);
      shared_.resize(met_.size() * draws, 0.0);
    }
    return static_cast<std::size_t>(slot_[column]);
  };
  slot_.resize(sizes_.size(), -1);
  meet(open);
  if (own >= 0) meet(own);
  for (std::size_t d = 0; d < draws; ++d) {
    if (cell[d] == 0) continue;
    for (const Entry& e : table_[cell[d]]) shared_[meet(e.column) * draws + d] = e.count;
  }
  if (own >= 0) {
    double* home = shared_.data() + slot_[own] * draws;
    for (std::size_t d = 0; d < draws; ++d) home[d] = left_[d] = cell[d] == 0 ? 0.0 : home[d] - static_cast<double>(m);
  }
  std::fill(score_.begin(), score_.end(), 2.0);  // more than any: a column that shares nothing is never better than an empty one
  for (int k : met_) {
    weigh_pairs(k, own, m);
    const double* worth = worth_.data() + static_cast<std::size_t>(k) * draws;
    const double* shared = shared_.data() + slot_[k] * draws;
    double more = 0.0;
    for (std::size_t d = 0; d < draws; ++d) more += worth[d] * (shared[d] - left_[d]);
    score_[k] = rest_[k] - static_cast<double>(m) * more;
    slot_[k] = -1;
  }
  own_score_ = own >= 0 ? score_[own] : 0.0;
}

// Whether a point may go from `own`, where it is alone or not, to another column.
bool PartitionSearch::allowed(int column, int own, bool alone) const {
  if (column == own) return false;
  if (sizes_[column] == 0) return alone || occupied_ < most_;
  return !alone || occupied_ > least_;
}

PartitionSearch::Choice PartitionSearch::best(int point) {
  const int open = free_column();
  if (adjusted_)
    met_adjusted(point, open);
  else
    met_separable(point);
  if (labels_[point] < 0) own_score_ = score_[open];
  const bool out = labels_[point] < 0;
  const int own = out ? open : labels_[point];
  const bool alone = !out && sizes_[own] == copies_[point];
  int to = out && occupied_ >= most_ ? -1 : own;          // what may open no cluster has no place yet
  double next = std::numeric_limits<double>::infinity();  // of the others than `own`
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    if (!allowed(static_cast<int>(k), own, alone)) continue;
    next = std::min(next, score_[k]);
    if (to < 0 || score_[k] < score_[to]) to = static_cast<int>(k);
  }
  return {to, own_score_ - score_[to], next - own_score_};
}

void PartitionSearch::random_order(std::vector<int>& points, Rng& rng) const {
  // Where a point of m rows comes first in a random order of all rows: the least of m clocks.
  std::vector<std::pair<double, int>> clocks;
  clocks.reserve(points.size());
  for (int i : points) clocks.emplace_back(rng.exponential() / static_cast<double>(copies_[i]), i);
  std::sort(clocks.begin(), clocks.end());
  for (std::size_t at = 0; at < points.size(); ++at) points[at] = clocks[at].second;
}

// The first points of a random order know little company: where boundaries are doubtful nearly all of them would stand alone, and
// what follows would take a step for each pair of them. So no more clusters are opened than the draw with most has (as SALSO does).
void PartitionSearch::place_all(const std::vector<int>& order) {
  const int before = most_;
  most_ = std::min(most_, std::max(widest_draw_, occupied_ + 1));
  for (int i : order) place(i, best(i).column);
  most_ = before;
}

void PartitionSearch::allocate(Rng& rng) {
  clear();
  std::vector<int> order(n_points_);
  std::iota(order.begin(), order.end(), 0);
  random_order(order, rng);
  place_all(order);
}

// Points once each, cluster by cluster in random order: the points of one share most of their rows of the table. `margins`
// become how much worse the next best place of each is, zero for those that move.
int PartitionSearch::sweep(const std::vector<int>& points, Rng& rng, std::vector<double>& margins) {
  std::vector<std::pair<std::uint64_t, int>> order;
  order.reserve(points.size());
  std::vector<std::uint64_t> rank(sizes_.size());
  for (auto& r : rank) r = rng.next() & ~0xFFFFFFFFull;
  for (int i : points) order.emplace_back(rank[labels_[i]] | (rng.next() >> 32), i);
  std::sort(order.begin(), order.end());
  int moved = 0;
  for (const auto& [key, i] : order) {
    if (stopped()) return 0;
    const Choice choice = best(i);
    const double step = f_[n_rows_] - f_[n_rows_ - copies_[i]];
    const double rounding = adjusted_ ? kRoundingAdjusted : kRounding * std::max(step, 1.0);
    margins[i] = choice.margin;
    if (choice.column == labels_[i] || choice.gain <= rounding) continue;
    take_out(i);
    place(i, choice.column);
    margins[i] = 0.0;
    ++moved;
  }
  return moved;
}

// Closes the gaps between columns when there are many: an empty column costs as much as an occupied one.
void PartitionSearch::close_gaps() {
  const auto empty = static_cast<std::size_t>(std::count(sizes_.begin(), sizes_.end(), 0));
  if (empty <= 2 + sizes_.size() / 8) return;
  std::vector<std::int32_t> number(sizes_.size(), -1), labels(n_points_);
  int next = 0;
  for (int i = 0; i < n_points_; ++i) {
    std::int32_t& to = number[labels_[i]];
    if (to < 0) to = next++;
    labels[i] = to;
  }
  load(labels.data());
}

// Whole sweeps until one moves nothing. Between them, what moved and the tenth of the points that came nearest to it are
// swept alone: moves bring on more of them mostly there.
void PartitionSearch::sweep_to_rest(Rng& rng, int max_sweeps) {
  std::vector<int> all, near;
  for (int i = 0; i < n_points_; ++i)
    if (held_.empty() || !held_[i]) all.push_back(i);
  std::vector<double> margins(n_points_);
  for (int s = 0; s < max_sweeps; ++s) {
    close_gaps();
    if (sweep(all, rng, margins) == 0 || stopped()) return;
    std::vector<double> sorted = margins;
    const auto tenth = sorted.begin() + n_points_ / 10;
    std::nth_element(sorted.begin(), tenth, sorted.end());
    near.clear();
    for (int i : all)
      if (margins[i] <= *tenth) near.push_back(i);
    while (++s < max_sweeps && sweep(near, rng, margins) > 0) {
    }
  }
}

double PartitionSearch::one_minus_rand() const {
  double sum = 1.0;
  for (int d = 0; d < n_draws_; ++d) {
    const double expected = draw_pairs_[d] * own_pairs_ / all_pairs_;
    const double room = 0.5 * (draw_pairs_[d] + own_pairs_) - expected;
    sum -= weights_[d] * (room > kNoRoom * all_pairs_ ? (joint_pairs_[d] - expected) / room : 1.0);
  }
  return sum;
}

// Dissolves a cluster and allocates its points anew; undone unless the loss falls.
bool PartitionSearch::rebuild(int column, Rng& rng) {
  std::vector<int> members;
  for (int i = 0; i < n_points_; ++i)
    if (labels_[i] == column) members.push_back(i);
  const double before = one_minus_rand();
  const std::int64_t size = sizes_[column];
  change_ = 0.0;
  for (int i : members) take_out(i);
  random_order(members, rng);
  place_all(members);
  const double fallen = adjusted_ ? before - one_minus_rand() : -change_;
  if (occupied_ >= least_ && fallen > (adjusted_ ? kRoundingAdjusted : kRounding * std::max(f_[size], 1.0))) return true;
  for (int i : members) take_out(i);
  for (int i : members) place(i, column);  // empty again, since no other point moved
  return false;
}

void PartitionSearch::descend(Rng& rng, int max_sweeps, int zealous) {
  sweep_to_rest(rng, max_sweeps);
  for (int z = 0; z < zealous && !stopped(); ++z) {
    std::vector<int> occupied;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      if (sizes_[k] > 0) occupied.push_back(static_cast<int>(k));
    if (rebuild(occupied[rng.index(static_cast<int>(occupied.size()))], rng)) sweep_to_rest(rng, max_sweeps);
  }
}

}  // namespace hedgerow
