// The search for two sides of a tree.
#include "hedgerow/tree_halves.hpp"

#include <algorithm>
#include <numeric>

namespace hedgerow {
namespace {
constexpr int kBlocks = 16;
constexpr int kSweeps = 8;
constexpr double kReach = 4.0;  // a search goes on while so many more sweeps like the last could make it worth it
}  // namespace

double TreeHalves::weight(int m, const double* lq) const { return f_.measure().log_weight(m, lq); }

double TreeHalves::potential(int slot) const {
  const int R = f_.measure().trivial_q() ? 0 : f_.measure().bases();
  return weight(size_[slot], R > 0 ? log_q_.data() + static_cast<std::size_t>(slot) * R : nullptr) + log_like_[slot];
}

void TreeHalves::load(int slot, Ref a) {
  if (a >= 0) {
    sums_->load(slot, f_.statistics(), a);
  } else {
    sums_->clear(slot);
    sums_->add(slot, ~a);
  }
  size_[slot] = f_.size(a);
  log_like_[slot] = f_.log_like(a);
  const double* lq = f_.log_q(a);
  if (lq != nullptr) std::copy_n(lq, f_.measure().bases(), log_q_.begin() + static_cast<std::ptrdiff_t>(slot) * f_.measure().bases());
}

void TreeHalves::take_apart(Ref root) {
  above_.clear();
  blocks_.assign(1, root);
  while (static_cast<int>(blocks_.size()) < kBlocks) {
    int largest = -1;
    for (int i = 0; i < static_cast<int>(blocks_.size()); ++i)
      if (f_.splittable(blocks_[i]) && (largest < 0 || f_.size(blocks_[i]) > f_.size(blocks_[largest]))) largest = i;
    if (largest < 0) break;
    const int c = blocks_[largest];
    above_.push_back(c);
    blocks_[largest] = f_.left(c);
    blocks_.push_back(f_.right(c));
  }
  const int count = static_cast<int>(blocks_.size());
  sums_->reserve(count);
  size_.resize(count);
  log_like_.resize(count);
  if (!f_.measure().trivial_q()) log_q_.resize(static_cast<std::size_t>(count) * f_.measure().bases());
  for (int i = 0; i < count; ++i) load(i, blocks_[i]);
  joins_.clear();
  side_of_.resize(count);
  std::iota(side_of_.begin(), side_of_.end(), 0);
}

// a goes on as both.
void TreeHalves::merge(int into, int other) {
  const int R = f_.measure().trivial_q() ? 0 : f_.measure().bases();
  sums_->merge(into, other);
  size_[into] += size_[other];
  log_like_[into] = sums_->log_marginal(into);
  for (int r = 0; r < R; ++r) log_q_[static_cast<std::size_t>(into) * R + r] += log_q_[static_cast<std::size_t>(other) * R + r];
  joins_.emplace_back(into, other);
  std::replace(side_of_.begin(), side_of_.end(), other, into);
}

double TreeHalves::joined(int a, int b, double log_like) const {
  const int R = f_.measure().trivial_q() ? 0 : f_.measure().bases();
  std::vector<double> lq(R);
  for (int r = 0; r < R; ++r) lq[r] = log_q_[static_cast<std::size_t>(a) * R + r] + log_q_[static_cast<std::size_t>(b) * R + r];
  return weight(size_[a] + size_[b], R > 0 ? lq.data() : nullptr) + log_like;
}

// Greedily, down to two.
void TreeHalves::gather() {
  const int count = static_cast<int>(blocks_.size());
  std::vector<int> alive = side_of_, others;
  gain_.assign(static_cast<std::size_t>(count) * count, -kInf);
  std::vector<double> joint(padded(count));
  auto compare = [&](int i) {
    others.clear();
    for (int j : alive)
      if (j != i) others.push_back(j);
    sums_->log_marginal_merged(i, others, joint.data());
    for (std::size_t o = 0; o < others.size(); ++o) {
      const int j = others[o];
      gain_[static_cast<std::size_t>(std::min(i, j)) * count + std::max(i, j)] = joined(i, j, joint[o]) - potential(i) - potential(j);
    }
  };
  for (int i : alive) compare(i);
  while (alive.size() > 2) {
    int a = -1, b = -1;
    for (std::size_t i = 0; i < alive.size(); ++i)
      for (std::size_t j = i + 1; j < alive.size(); ++j)
        if (a < 0 || gain_[static_cast<std::size_t>(alive[i]) * count + alive[j]] > gain_[static_cast<std::size_t>(a) * count + b]) {
          a = alive[i];
          b = alive[j];
        }
    merge(a, b);
    alive.erase(std::find(alive.begin(), alive.end(), b));
    compare(a);
  }
  slot_[0] = alive[0];
  slot_[1] = alive[1];
}

// Two subtrees are the sides; the others come in random order and join the side that suits them.
void TreeHalves::gather_round_two(Rng& rng) {
  const int count = static_cast<int>(blocks_.size());
  std::vector<int> order = side_of_;
  for (int i = 0; i < count; ++i) std::swap(order[i], order[i + rng.index(count - i)]);
  slot_[0] = order[0];
  slot_[1] = order[1];
  for (int i = 2; i < count; ++i) {
    double joint[8], gain[2];
    sums_->log_marginal_merged(order[i], slot_, joint);
    for (int s = 0; s < 2; ++s) gain[s] = joined(slot_[s], order[i], joint[s]) - potential(slot_[s]);
    merge(slot_[gain[1] > gain[0]], order[i]);
  }
}

// Every row against both sides, its own without it; returns how many have changed over.
int TreeHalves::change_sides() {
  const Measure& measure = f_.measure();
  const int R = measure.trivial_q() ? 0 : measure.bases();
  std::vector<double> mixing(2 * static_cast<std::size_t>(R));
  for (int s = 0; s < 2 && R > 0; ++s) {
    double* w = mixing.data() + static_cast<std::size_t>(s) * R;
    measure.basis_shares(size_[slot_[s]], log_q_.data() + static_cast<std::size_t>(slot_[s]) * R, w);
  }
  // By group, how much more a row suits the second side than the first, once it is asked for; what sizes add changes as rows do.
  std::vector<double> leans(measure.groups(), R > 0 ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  auto lean = [&](int t) {
    if (!std::isnan(leans[t])) return leans[t];
    double rate[2] = {0.0, 0.0};
    for (int s = 0; s < 2; ++s)
      for (int r = 0; r < R; ++r) rate[s] += mixing[static_cast<std::size_t>(s) * R + r] * measure.join_rate(t, r);
    return leans[t] = std::log(std::max(rate[1], 1e-300) / std::max(rate[0], 1e-300));
  };
  int changed = 0;
  double odds[2] = {0.0, 0.0};
  bool known = false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const int row = rows_[i], from = at_[i], a = slot_[from], b = slot_[1 - from];
    if (size_[a] < 2) continue;
    for (int s = 0; s < 2 && !known; ++s)
      odds[s] = std::log((size_[slot_[1 - s]] - measure.sigma()) / std::max(size_[slot_[s]] - 1 - measure.sigma(), 1e-300));
    known = true;
    const double over = odds[from] + (from == 0 ? lean(f_.group(row)) : -lean(f_.group(row)));
    if (over + sums_->log_predictive(row, b) <= sums_->log_predictive_without(row, a)) continue;
    ++changed;
    known = false;
    at_[i] = static_cast<char>(1 - from);
    if (!sums_->remove(a, row)) {
      sums_->clear(a);
      for (std::size_t j = 0; j < rows_.size(); ++j)
        if (at_[j] == from) sums_->add(a, rows_[j]);
    }
    sums_->add(b, row);
    --size_[a];
    ++size_[b];
    for (int r = 0; r < R; ++r) {
      const double q = measure.lq(f_.group(row), r);
      log_q_[static_cast<std::size_t>(a) * R + r] -= q;
      log_q_[static_cast<std::size_t>(b) * R + r] += q;
    }
  }
  for (int s : slot_) log_like_[s] = sums_->log_marginal(s);
  return changed;
}

bool TreeHalves::find(Ref root, Rng* rng) {
  if (!f_.splittable(root) || f_.size(root) != f_.leaf_count(root)) return false;  // summaries have no rows that could change sides
  take_apart(root);
  if (rng == nullptr) {
    gather();
  } else {
    gather_round_two(*rng);
  }
  rows_.clear();
  at_.clear();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    f_.leaves(blocks_[i], rows_);
    at_.resize(rows_.size(), static_cast<char>(side_of_[i] == slot_[1]));
  }
  first_ = at_;
  const double whole = f_.phi_h(root);
  double now = potential(slot_[0]) + potential(slot_[1]);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const int changed = change_sides();
    const double before = std::exchange(now, potential(slot_[0]) + potential(slot_[1]));
    if (now + kReach * (now - before) < whole) return false;
    if (changed == 0) break;
  }
  if (now <= whole) return false;
  strays_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (at_[i] != first_[i]) strays_.push_back({rows_[i], at_[i]});
  return true;
}

}  // namespace hedgerow
