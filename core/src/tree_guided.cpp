// Split and merge moves along guide trees, with their exact acceptance ratios; notation as in tree_guided.hpp.
#include "hedgerow/kernels/tree_guided.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "hedgerow/bhc.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/ibhc.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {
constexpr int kMoves = 20, kClimbing = 100;  // at most, of draws and of the warm-up
constexpr double kDoubt = 0.97;    // of all expected moves of a sweep fall to the doubtful rows
constexpr int kTurns = 4;          // steady rows are visited in one sweep of so many
constexpr double kRenewal = 10.0;  // moves for each cluster of one row that is to be renewed
// Shares of the warm-up: heated sweeps, when their outcome is judged, and the end of cold ones.
constexpr double kHeated = 0.1, kCooled = 0.42, kJudged = 0.45, kThawed = 0.5;
constexpr double kCold = 0.1;
constexpr double kStirred = 0.4;  // of the rows move in the first heated sweep
}

// Hyper-parameters that have not been drawn yet may keep thousands of rows alone, and joining those takes forever: the first
// guide is grown with such as suit one cluster.
std::shared_ptr<const WeightedGuide> grow_guide(State& state, bool first, std::vector<int>* roots) {
  const int n = state.partition.rows();
  std::vector<int> order(n), groups;
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < n; ++i) std::swap(order[i], order[i + state.rng.index(n - i)]);
  if (state.measure.groups() > 1)
    for (int i = 0; i < n; ++i) groups.push_back(state.partition.group(i));
  Measure measure = state.measure;
  if (first && measure.has_laws()) {
    std::vector<double> log_q(measure.trivial_q() ? 0 : measure.bases(), 0.0);
    for (int i = 0; i < n; ++i)
      for (std::size_t r = 0; r < log_q.size(); ++r) log_q[r] += measure.lq(state.partition.group(i), static_cast<int>(r));
    resample_typically(measure, state.rng, {n}, log_q, true, 15);
  }
  Forest forest(state.partition.likelihood(), measure, std::move(groups));
  Inserter inserter(forest, {});
  for (int row : order) inserter.insert(~row);
  if (roots) forest.labels(*roots);
  bhc(forest, true);
  std::vector<int> identity(n);
  std::iota(identity.begin(), identity.end(), 0);
  const ForestArrays arrays = forest.arrays(identity, n);
  auto guide = std::make_shared<WeightedGuide>();
  guide->tree = Guide(std::vector<int>(arrays.left.begin(), arrays.left.end()), std::vector<int>(arrays.right.begin(), arrays.right.end()));
  guide->split_probability.resize(arrays.log_d.size(), 0.0);
  for (std::size_t v = n; v < arrays.log_d.size(); ++v) guide->split_probability[v] = 1.0 / (1.0 + std::exp(-arrays.log_d[v]));
  return guide;
}

TreeGuided::TreeGuided(Guides given, int grown, int global_moves, int single_moves, bool anneal, double sweep_rate)
    : guides_(std::move(given)),
      grown_(guides_.empty() ? grown : 0),
      global_moves_(global_moves),
      single_moves_(single_moves),
      anneal_(anneal && sweep_rate > 0.0),
      sweep_rate_(sweep_rate) {}

void TreeGuided::grow(State& state, int count) {
  for (int g = 0; g < count; ++g) {
    std::vector<int> roots;
    guides_.push_back(grow_guide(state, growths_ <= 1, warming_ && growths_ <= 1 ? &roots : nullptr));
    if (!roots.empty()) offer(state, roots);
  }
}

void TreeGuided::offer(State& state, const std::vector<int>& labels) {
  auto log_joint = [&state] { return state.measure.log_partition(state.partition.sizes(), state.partition.log_q()) + state.partition.log_likelihood(); };
  const std::vector<int> own = state.partition.labels();
  const double before = log_joint();
  state.partition.assign(labels);
  if (log_joint() < before) state.partition.assign(own);
}

// One guide is enough to climb with; all of them are grown once the hyper-parameters, if any are drawn, have had time to settle.
void TreeGuided::adapt(State& state, double progress) {
  constexpr double kAgain[] = {0.0, 0.1, kThawed};  // shares of the warm-up
  constexpr int kTimes = 3;
  warming_ = true;
  settled_ = false;
  if (grown_ > 0 && growths_ < kTimes && progress >= kAgain[growths_]) {
    ++growths_;
    if (state.measure.has_laws()) guides_.clear();
    const int wanted = growths_ == 1 || (growths_ < kTimes && !state.measure.has_laws()) ? 1 : grown_;
    grow(state, wanted - static_cast<int>(guides_.size()));
  }
  anneal(state, progress);
}

// Where clusters are many and far apart in evidence (documents), every move that mends one loses hundreds of nats on its way:
// sweeps at a falling temperature find partitions that neither sweeps nor splits and merges reach. What they find is kept only
// if it is better. A few cold sweeps then show how high the mode is.
void TreeGuided::anneal(State& state, double progress) {
  heat_ = 1.0;
  if (annealing_ == Annealing::none && progress >= kHeated && anneal_) {
    hottest_ = progress < kCooled ? gibbs_.heat_that_moves(state, kStirred) : 1.0;
    annealing_ = hottest_ > 1.0 ? Annealing::begun : Annealing::over;
    if (annealing_ == Annealing::begun) before_ = state.partition.labels();
  }
  if (annealing_ == Annealing::begun && progress >= kJudged) judge(state);
  if (annealing_ == Annealing::over && anneal_ && progress >= kJudged && progress < kThawed) heat_ = kCold;
  if (annealing_ != Annealing::begun) return;
  heat_ = std::max(1.0, hottest_ * (kCooled - progress) / (kCooled - kHeated));
}

void TreeGuided::judge(State& state) {
  offer(state, before_);
  before_.clear();
  annealing_ = Annealing::over;
}

// So many global moves that they cost this share of a sweep over `visited` rows, in evaluations (one of a block against two
// halves costs about ten of a row against all clusters at once).
int TreeGuided::tuned_moves(const State& state, double visited, double share, double least, double most) {
  const double n = state.partition.rows(), k = state.partition.clusters();
  return static_cast<int>(std::clamp(share * visited * (k + 8.0) / (30.0 * n / k + 18.0 * k), least, most));
}

// Where Gibbs mixes by itself every further move costs effective draws, where it does not they cost next to nothing: a sixth of
// a sweep. On small sets an iteration costs microseconds and there are at least a few, since chains are judged by the draw.
void TreeGuided::settle(State& state) {
  if (annealing_ == Annealing::begun) judge(state);  // the warm-up was shorter than announced
  const int n = state.partition.rows();
  sort_rows(n);
  const double visited = static_cast<double>(doubtful_.size()) + static_cast<double>(steady_.size()) / kTurns;
  moves_ = global_moves_ != kTuned ? global_moves_ : tuned_moves(state, visited, 0.15, std::clamp(3000.0 / n, 2.0, 10.0), kMoves);
  singles_each_ = single_moves_ != kTuned ? single_moves_ : static_cast<int>(std::min(kRenewal * (1.0 + singles_.total()), 0.25 * visited));
  settled_ = true;
}

// Without a warm-up every row is as doubtful as any other.
void TreeGuided::sort_rows(int n) {
  singles_.set_weights(watch_.empty() ? std::vector<double>(n, 1.0 / n) : watch_.opening);
  doubtful_.clear();
  steady_.clear();
  double least = 0.0;
  if (!watch_.empty()) {
    std::vector<double> moving = watch_.moving;
    std::sort(moving.begin(), moving.end());
    double rest = (1.0 - kDoubt) * std::accumulate(moving.begin(), moving.end(), 0.0);
    for (double chance : moving) {
      least = chance;
      if ((rest -= chance) < 0.0) break;
    }
  }
  for (int i = 0; i < n; ++i) (watch_.empty() || watch_.moving[i] >= least ? doubtful_ : steady_).push_back(i);
}

// The lists depend on the warm-up alone and their turns on nothing: a fixed cycle of Gibbs updates.
void TreeGuided::sweep(State& state) {
  if (!settled_) return gibbs_.step(state);
  const int count = static_cast<int>(steady_.size());
  const int begin = static_cast<int>(static_cast<std::int64_t>(count) * next_steady_ / kTurns);
  next_steady_ = (next_steady_ + 1) % kTurns;
  const int end = next_steady_ == 0 ? count : static_cast<int>(static_cast<std::int64_t>(count) * next_steady_ / kTurns);
  gibbs_.sweep(state, steady_.data() + begin, end - begin);
  gibbs_.sweep(state, doubtful_.data(), static_cast<int>(doubtful_.size()));
}

void TreeGuided::save(Carried& out) const {
  out.whole.insert(out.whole.end(), {settled_, moves_, singles_each_, next_steady_, watch_.sweeps, !watch_.empty()});
  out.whole.push_back(static_cast<int>(annealing_));
  out.real.push_back(hottest_);
  out.whole.insert(out.whole.end(), before_.begin(), before_.end());
  out.real.insert(out.real.end(), watch_.opening.begin(), watch_.opening.end());
  out.real.insert(out.real.end(), watch_.moving.begin(), watch_.moving.end());
  if (grown_ == 0) return;
  out.whole.insert(out.whole.end(), {growths_, static_cast<int>(guides_.size())});
  for (const auto& guide : guides_) {
    const std::ptrdiff_t n = guide->tree.rows();
    for (const std::vector<int>* side : {&guide->tree.left, &guide->tree.right}) out.whole.insert(out.whole.end(), side->begin() + n, side->end());
    out.real.insert(out.real.end(), guide->split_probability.begin() + n, guide->split_probability.end());
  }
}

// Labels are 0..K-1, each used.
static void check_labels(const std::vector<int>& labels) {
  std::vector<char> used(labels.size(), 0);
  for (int c : labels) {
    if (c < 0 || c >= static_cast<int>(labels.size())) throw std::invalid_argument("a kernel's memory has labels out of range");
    used[c] = 1;
  }
  if (!std::is_sorted(used.begin(), used.end(), std::greater<>())) throw std::invalid_argument("a kernel's memory has labels that skip a number");
}

void TreeGuided::load(State& state, CarriedReader& in) {
  const std::size_t n = static_cast<std::size_t>(state.partition.rows());
  settled_ = in.whole() != 0;
  moves_ = in.whole();
  singles_each_ = in.whole();
  next_steady_ = in.whole();
  const bool few = moves_ <= std::max(global_moves_, kMoves) && singles_each_ <= std::max(single_moves_, static_cast<int>(n));
  if (moves_ < 0 || singles_each_ < 0 || !few) throw std::invalid_argument("a kernel's memory has a number of moves that it cannot have");
  if (next_steady_ < 0 || next_steady_ >= kTurns) throw std::invalid_argument("a kernel's memory has a turn that does not exist");
  watch_ = {};
  watch_.sweeps = in.whole();
  const bool watched = in.whole() != 0;
  const int annealing = in.whole();
  if (annealing < 0 || annealing > static_cast<int>(Annealing::over)) throw std::invalid_argument("a kernel's memory has a stage of annealing that does not exist");
  annealing_ = static_cast<Annealing>(annealing);
  hottest_ = in.reals(1)[0];
  if (!(hottest_ >= 1.0 && hottest_ < kInf)) throw std::invalid_argument("a kernel's memory has a temperature that it cannot have");
  before_ = in.wholes(annealing_ == Annealing::begun ? n : 0);
  check_labels(before_);
  if (watched) {
    watch_.opening = in.reals(n);
    watch_.moving = in.reals(n);
    for (const std::vector<double>* chances : {&watch_.opening, &watch_.moving})
      for (double p : *chances)
        if (!(p >= -1e-9 && p <= 1.0 + 1e-9)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
  }
  if (watch_.sweeps < 0) throw std::invalid_argument("a kernel's memory has seen a negative number of sweeps");
  if (settled_) sort_rows(static_cast<int>(n));
  if (grown_ == 0) return;
  growths_ = in.whole();
  const int count = in.whole();
  if (growths_ < 0 || count < 0 || count > grown_) throw std::invalid_argument("a kernel's memory has guides it cannot have grown");
  guides_.clear();
  for (int g = 0; g < count; ++g) {
    std::vector<int> sides[2];
    for (std::vector<int>& side : sides) {
      side.assign(n, -1);
      const std::vector<int> inner = in.wholes(n - 1);
      side.insert(side.end(), inner.begin(), inner.end());
    }
    auto guide = std::make_shared<WeightedGuide>();
    guide->tree = Guide(std::move(sides[0]), std::move(sides[1]));
    guide->split_probability.assign(n, 0.0);
    for (double p : in.reals(n - 1)) {
      if (!(p >= 0.0 && p <= 1.0)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
      guide->split_probability.push_back(p);
    }
    guides_.push_back(std::move(guide));
  }
}

std::vector<std::string> TreeGuided::stat_names() const {
  return {"splits", "splits_accepted", "merges", "merges_accepted", "log_r", "births", "deaths", "moved"};
}

void TreeGuided::stats(double* out) const {
  out[0] = splits_;
  out[1] = split_accepts_;
  out[2] = merges_;
  out[3] = merge_accepts_;
  out[4] = log_r_count_ > 0 ? log_r_sum_ / log_r_count_ : std::nan("");
  out[5] = singles_.births;
  out[6] = singles_.deaths;
  gibbs_.stats(out + 7);
}

void TreeGuided::step(State& state) {
  splits_ = split_accepts_ = merges_ = merge_accepts_ = log_r_count_ = 0;
  log_r_sum_ = 0.0;
  sides_.attach(state);
  if (guides_.empty() && state.partition.rows() > 1) grow(state, grown_);
  const int n = state.partition.rows();
  if (!warming_ && !settled_) settle(state);
  const bool exact = !warming_ || heat_ == 1.0;
  const int moves = !exact ? 0 : settled_ ? moves_ : global_moves_ != kTuned ? global_moves_ : tuned_moves(state, n, 0.5, kMoves, kClimbing);
  if (n > 1)
    for (int g = 0; g < moves; ++g) global_move(state);
  gibbs_.rest();
  singles_.births = singles_.deaths = 0;
  if (warming_ && static_cast<int>(watch_.opening.size()) != n) watch_.start(n);
  gibbs_.watch(warming_ && exact ? &watch_ : nullptr);
  gibbs_.set_heat(exact ? 1.0 : heat_, before_.empty() ? n : 20 + 3 * (1 + *std::max_element(before_.begin(), before_.end())) / 2);
  if (settled_ && n > 1) singles_.step(state, gibbs_, singles_each_);
  if (!exact || sweep_rate_ >= 1.0 || state.rng.uniform() < sweep_rate_) sweep(state);
  warming_ = false;
}

static double log_phi(State& state, int c) {
  Partition& p = state.partition;
  return state.measure.log_weight(p.size(c), p.log_q(c)) + p.statistics().log_marginal(c);
}

double TreeGuided::affinities(State& state, int slot, int size, const double* lq, int skip_a, int skip_b, double* out) {
  Partition& partition = state.partition;
  const Measure& measure = state.measure;
  const int k = partition.clusters(), R = measure.bases();
  while (static_cast<int>(others_.size()) < k) others_.push_back(static_cast<int>(others_.size()));
  merged_.resize(k);
  partition.statistics().log_marginal_merged(slot, others_.data(), k, merged_.data());
  const double own = measure.log_weight(size, lq) + partition.statistics().log_marginal(slot);
  std::vector<double> sum_q(measure.trivial_q() ? 0 : R);
  double top = 0.0;
  for (int c = 0; c < k; ++c) {
    if (c == skip_a || c == skip_b) {
      out[c] = -kInf;
      continue;
    }
    for (std::size_t r = 0; r < sum_q.size(); ++r) sum_q[r] = lq[r] + partition.log_q(c)[r];
    out[c] = measure.log_weight(size + partition.size(c), sum_q.data()) + merged_[c] - own - log_phi_[c];
    top = std::max(top, out[c]);
  }
  double total = std::exp(-top);
  for (int c = 0; c < k; ++c) total += std::exp(out[c] - top);
  return top + std::log(total);
}

void TreeGuided::global_move(State& state) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int n = partition.rows(), k = partition.clusters();
  const WeightedGuide& guide = *guides_[rng.index(static_cast<int>(guides_.size()))];
  int levels = 1;
  while ((1 << (levels - 1)) < n) ++levels;
  const int block_size = 1 << rng.index(levels);
  const int c = rng.index(k);
  log_phi_.resize(k);
  for (int j = 0; j < k; ++j) log_phi_[j] = log_phi(state, j);
  affinity_.resize(k);
  affinities_total_ = affinities(state, c, partition.size(c), partition.log_q(c), c, -1, affinity_.data());
  double left = rng.uniform();
  for (int j = 0; j < k; ++j) {
    left -= std::exp(affinity_[j] - affinities_total_);
    if (left < 0.0) return merge(state, guide, c, j, block_size);
  }
  if (partition.size(c) > 1) split(state, guide, c, block_size);
}

// ω_v: the chance, as the guide's builder saw it, that v joins different clusters, plus an even share for every node.
void TreeGuided::node_weights(const WeightedGuide& guide) {
  const std::size_t inner = induced_.begin.size();
  omega_.assign(inner, 1.0 / static_cast<double>(inner));
  if (guide.split_probability.empty()) return;
  for (std::size_t v = 0; v < inner; ++v) omega_[v] += guide.split_probability[induced_.node[v]];
}

void TreeGuided::cut_into_blocks(int child, int block_size) {
  pending_.assign(1, child);  // a stack of its own: guides may be as deep as they have rows
  while (!pending_.empty()) {
    const int node = pending_.back();
    pending_.pop_back();
    if (node < 0) {
      blocks_.push_back({~node, ~node + 1});
    } else if (induced_.size(node) <= block_size) {
      blocks_.push_back({induced_.begin[node], induced_.end[node]});
    } else {
      pending_.push_back(induced_.right[node]);
      pending_.push_back(induced_.left[node]);
    }
  }
}

// The blocks hanging off the paths i → v, j → v and v → root, nearest first.
void TreeGuided::list_blocks(int v, int i, int j, int block_size) {
  blocks_.clear();
  std::vector<int> hanging;
  for (int seed : {i, j}) {
    hanging.clear();
    int node = seed == i ? induced_.left[v] : induced_.right[v];
    while (node >= 0) {
      const bool goes_left = seed <= node;
      hanging.push_back(goes_left ? induced_.right[node] : induced_.left[node]);
      node = goes_left ? induced_.left[node] : induced_.right[node];
    }
    for (auto it = hanging.rbegin(); it != hanging.rend(); ++it) cut_into_blocks(*it, block_size);
  }
  for (int node = v, up = induced_.parent[v]; up >= 0; node = up, up = induced_.parent[up])
    cut_into_blocks(induced_.left[up] == node ? induced_.right[up] : induced_.left[up], block_size);
}

// log φ_h(side ∪ block) − log φ_h(side) for the two sides.
void TreeGuided::block_scores(const Block& block, double* out) {
  if (block.end - block.begin > 1) {
    sides_.set_block(&induced_.rows[block.begin], block.end - block.begin);
    return sides_.score_block(out);
  }
  out[0] = sides_.score(induced_.rows[block.begin], 0);
  out[1] = sides_.score(induced_.rows[block.begin], 1);
}

void TreeGuided::add_block(const Block& block, int side) {
  if (block.end - block.begin > 1) return sides_.add_block(side);
  sides_.add(side, induced_.rows[block.begin]);
}

void TreeGuided::seed_sides(int i, int j) {
  sides_.clear(0);
  sides_.clear(1);
  sides_.add(0, induced_.rows[i]);
  sides_.add(1, induced_.rows[j]);
}

// Probability of choosing side 0 given the two scores, and of side 1, in logs.
static void log_choice(const double* scores, double* out) {
  const double total = log_add(scores[0], scores[1]);
  out[0] = scores[0] - total;
  out[1] = scores[1] - total;
}

void TreeGuided::split(State& state, const WeightedGuide& guide, int c, int block_size) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int k = partition.clusters(), m = partition.size(c);
  ++splits_;
  guide.tree.induce(partition.members(c).data(), m, induced_);
  node_weights(guide);
  double omega_total = 0.0;
  for (double w : omega_) omega_total += w;
  const int v = draw_index(rng, omega_.data(), static_cast<int>(omega_.size()), omega_total);
  const int i = induced_.begin[v] + rng.index(v + 1 - induced_.begin[v]);
  const int j = v + 1 + rng.index(induced_.end[v] - v - 1);
  list_blocks(v, i, j, block_size);
  seed_sides(i, j);
  side_of_.assign(m, 0);
  side_of_[j] = 1;
  double log_q = 0.0;
  for (const Block& block : blocks_) {
    double scores[2], choice[2];
    block_scores(block, scores);
    log_choice(scores, choice);
    const int side = rng.uniform() < std::exp(choice[0]) ? 0 : 1;
    log_q += choice[side];
    add_block(block, side);
    for (int p = block.begin; p < block.end; ++p) side_of_[p] = static_cast<char>(side);
  }
  // s: the chance that the pair law separates the two sides.
  prefix_.assign(m + 1, 0);
  for (int p = 0; p < m; ++p) prefix_[p + 1] = prefix_[p] + (side_of_[p] == 0);
  double separated = 0.0;
  for (std::size_t w = 0; w < omega_.size(); ++w) {
    const double l = static_cast<double>(w) + 1 - induced_.begin[w], r = induced_.end[w] - static_cast<double>(w) - 1;
    const double al = prefix_[w + 1] - prefix_[induced_.begin[w]], ar = prefix_[induced_.end[w]] - prefix_[w + 1];
    separated += omega_[w] * (al * (r - ar) + (l - al) * ar) / (l * r);
  }
  const double log_s = std::log(separated / omega_total);

  // The way back: pick either side, then choose the other to merge with.
  const double phi_a = sides_.log_phi(0), phi_b = sides_.log_phi(1);
  const double phi_m = log_phi_[c];
  const double log_p_split = -affinities_total_;
  const int slot_a = partition.scratch(0), slot_b = partition.scratch(1);
  partition.statistics().load(slot_a, sides_.statistics(), 0);
  partition.statistics().load(slot_b, sides_.statistics(), 1);
  const double log_ab = phi_m - phi_a - phi_b;  // log a(A, B')
  merged_affinity_.resize(k);
  const double total_a = log_add(log_ab, affinities(state, slot_a, sides_.size(0), sides_.log_q(0), c, -1, merged_affinity_.data()));
  const double total_b = log_add(log_ab, affinities(state, slot_b, sides_.size(1), sides_.log_q(1), c, -1, merged_affinity_.data()));
  const double log_back = log_add(log_ab - total_a, log_ab - total_b) - std::log(k + 1.0);
  const double log_there = -std::log(static_cast<double>(k)) + log_p_split + log_q + log_s;
  const double log_r = phi_a + phi_b - phi_m + log_back - log_there;
  log_r_sum_ += log_r;
  ++log_r_count_;
  if (std::log(rng.uniform_open()) >= log_r) return;
  ++split_accepts_;
  leaving_.clear();
  for (int p = 0; p < m; ++p)
    if (side_of_[p] == 1) leaving_.push_back(induced_.rows[p]);
  partition.split(c, leaving_);
}

void TreeGuided::merge(State& state, const WeightedGuide& guide, int a, int b, int block_size) {
  Partition& partition = state.partition;
  Rng& rng = state.rng;
  const int k = partition.clusters();
  ++merges_;
  const double log_accept = std::log(rng.uniform_open());
  const double log_ab = affinity_[b];
  const double forward_a = log_ab - affinities_total_;
  merged_affinity_.resize(k);
  const double total_b = affinities(state, b, partition.size(b), partition.log_q(b), b, -1, merged_affinity_.data());
  const double log_there = log_add(forward_a, log_ab - total_b) - std::log(static_cast<double>(k));

  // The merged state: its chance of proposing a split of m.
  const int slot = partition.scratch(0);
  partition.statistics().copy(slot, a);
  partition.statistics().merge(slot, b);
  std::vector<double> q(state.measure.trivial_q() ? 0 : state.measure.bases());
  for (std::size_t r = 0; r < q.size(); ++r) q[r] = partition.log_q(a)[r] + partition.log_q(b)[r];
  const double log_p_split = -affinities(state, slot, partition.size(a) + partition.size(b), q.data(), a, b, merged_affinity_.data());
  const double phi_m = log_ab + log_phi_[a] + log_phi_[b];
  double log_r = phi_m - log_phi_[a] - log_phi_[b] - std::log(k - 1.0) + log_p_split - log_there;
  ++log_r_count_;

  // The split that would undo it: the same description with the outcome known.
  leaving_ = partition.members(a);
  leaving_.insert(leaving_.end(), partition.members(b).begin(), partition.members(b).end());
  const int m = static_cast<int>(leaving_.size());
  guide.tree.induce(leaving_.data(), m, induced_);
  node_weights(guide);
  double omega_total = 0.0;
  for (double w : omega_) omega_total += w;
  side_of_.resize(m);
  prefix_.assign(m + 1, 0);
  for (int p = 0; p < m; ++p) {
    side_of_[p] = partition.label(induced_.rows[p]) == b;
    prefix_[p + 1] = prefix_[p] + (side_of_[p] == 0);
  }
  pair_weight_.resize(omega_.size());
  double separated = 0.0;
  for (std::size_t w = 0; w < omega_.size(); ++w) {
    const double l = static_cast<double>(w) + 1 - induced_.begin[w], r = induced_.end[w] - static_cast<double>(w) - 1;
    const double al = prefix_[w + 1] - prefix_[induced_.begin[w]], ar = prefix_[induced_.end[w]] - prefix_[w + 1];
    separated += pair_weight_[w] = omega_[w] * (al * (r - ar) + (l - al) * ar) / (l * r);
  }
  log_r += std::log(separated / omega_total);
  const int v = draw_index(rng, pair_weight_.data(), static_cast<int>(pair_weight_.size()), separated);
  const int begin = induced_.begin[v], middle = v + 1, end = induced_.end[v];
  const double al = prefix_[middle] - prefix_[begin], ar = prefix_[end] - prefix_[middle];
  const double bl = middle - begin - al, br = end - middle - ar;
  const bool i_in_a = rng.uniform() * (al * br + bl * ar) < al * br;
  const int i = pick(rng, begin, middle, i_in_a ? 0 : 1, static_cast<int>(i_in_a ? al : bl));
  const int j = pick(rng, middle, end, i_in_a ? 1 : 0, static_cast<int>(i_in_a ? br : ar));
  list_blocks(v, i, j, block_size);
  for (const Block& block : blocks_) {
    const int in_a = prefix_[block.end] - prefix_[block.begin];
    if (in_a != 0 && in_a != block.end - block.begin) {  // no split could have produced this
      log_r_count_ -= 1;
      return;
    }
  }
  seed_sides(i, j);
  for (const Block& block : blocks_) {
    if (log_r < log_accept - 30.0) break;  // every further factor only lowers it
    double scores[2], choice[2];
    block_scores(block, scores);
    log_choice(scores, choice);
    const int side = side_of_[block.begin] == side_of_[i] ? 0 : 1;
    log_r += choice[side];
    add_block(block, side);
  }
  log_r_sum_ += log_r;
  if (log_accept >= log_r) return;
  ++merge_accepts_;
  partition.join(a, b);
}

// A uniform position of [begin, end) on the given side, of which there are `count`.
int TreeGuided::pick(Rng& rng, int begin, int end, int side, int count) const {
  int left = rng.index(count);
  for (int p = begin; p < end; ++p)
    if (side_of_[p] == side && left-- == 0) return p;
  return begin;
}

}  // namespace hedgerow
