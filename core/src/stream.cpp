// Batches in, folding when full, and the record of clusters' lives.
#include "hedgerow/stream.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "hedgerow/aligned.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/imputation.hpp"

namespace hedgerow {
namespace {
constexpr std::int64_t kYoung = 4096;       // rows: up to here all are revised whenever their number has doubled
constexpr int kTypical = 9;                 // draws of u and the hyper-parameters, of which the middle one is kept
constexpr int kFewDraws = 3;                // between repeats, which are many
constexpr int kManyGroups = 64;             // up to here every group's u is drawn anew with every batch
constexpr int kFewAlone = 8;                // rows alone after a batch, or a tenth of it: no reason to gather them
constexpr int kLooks = 16;                  // rows alive that are looked at for a new one where rows are forgotten, of some 23 a slice
constexpr int kCompared = 2048;             // with clusters at most, until one of them is found in the wrong place
constexpr double kCalm = 0.05;              // of the mass, while they are gathered; their joint density decides afterwards
constexpr std::size_t kDoubtful = 1 << 20;  // rows that wait to be looked at again: memory is bounded
}  // namespace

Stream::Stream(std::shared_ptr<Likelihood> likelihood, const Prior& prior, const std::vector<int>& groups,
               const std::vector<double>& when, StreamOptions options, std::uint64_t seed)
    : likelihood_(std::move(likelihood)),
      options_(options),
      measure_(prior, std::vector<int>(prior.groups, 0)),
      forest_(*likelihood_, measure_, {}),
      inserter_(forest_, InsertOptions{}, this),
      rng_(seed),
      group_sizes_(prior.groups, 0) {
  batch_rows_.resize(likelihood_->rows());
  for (int i = 0; i < likelihood_->rows(); ++i) batch_rows_[i] = i;
  insert(groups, when);
}

void Stream::add(const Likelihood& batch, const std::vector<int>& groups, const std::vector<double>& when) {
  const int n = batch.rows();
  if (seen_ + n > INT_MAX - 8) throw std::invalid_argument("a stream holds at most 2^31 - 8 points");
  std::vector<int> to(n);
  const int reused = std::min<int>(n, static_cast<int>(free_rows_.size()));
  for (int i = 0; i < n; ++i) to[i] = i < reused ? free_rows_[free_rows_.size() - 1 - i] : likelihood_->rows() + i - reused;
  likelihood_->take(batch, to.data());
  free_rows_.resize(free_rows_.size() - reused);
  forest_.grow();
  batch_rows_ = std::move(to);
  insert(groups, when);
}

void Stream::insert(const std::vector<int>& groups, const std::vector<double>& when) {
  const int n = static_cast<int>(batch_rows_.size());
  const double forgotten = options_.half_life;
  moved_.clear();
  row_point_.resize(likelihood_->rows(), -1);
  if (!options_.remember) {  // the last batch is remembered all the same: its ids are the answer
    home_base_ = seen_;
    home_.clear();
    folds_.clear();
    fold_node_.clear();
    std::fill(node_fold_.begin(), node_fold_.end(), -1);
  }
  std::vector<char> gaps(likelihood_->rows(), 0);
  for (int row : likelihood_->imputed_rows()) gaps[row] = 1;
  std::vector<int> order(n);
  open_.assign(n, 0);
  for (int i = 0; i < n; ++i) {
    open_[i] = gaps[batch_rows_[i]];
    order[i] = i;
    forest_.set_group(batch_rows_[i], groups.empty() ? 0 : groups[i]);
    row_point_[batch_rows_[i]] = static_cast<std::int32_t>(seen_ + i);
    home_.push_back(batch_rows_[i]);
  }
  if (forgotten > 0.0) live(when);
  auto mix = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) std::swap(order[i], order[i + rng_.index(end - i)]);
    std::stable_partition(order.begin() + begin, order.begin() + end, [&](int i) { return open_[i] == 0; });
  };
  if (!(forgotten > 0.0)) mix(0, n);
  for (int begin = 0, end = 0; begin < n; begin = end) {
    end = slice_end(begin, when);
    if (forgotten > 0.0) {
      for (int i = begin; i < end; ++i) now_ = std::max(now_, options_.clock ? when[i] : static_cast<double>(seen_ + i - begin + 1));
      mix(begin, end);
      forget_due(true);
    }
    count_in(order, begin, end, groups);
    if (options_.repeats > 1) {
      insert_best(order, begin, end);
    } else {
      insert_slice(order, begin, end);
    }
    if (forgotten > 0.0) {
      for (int i = begin; i < end; ++i) {
        coming_.emplace_back(due_[batch_rows_[order[i]]], batch_rows_[order[i]]);
        std::push_heap(coming_.begin(), coming_.end(), std::greater<>());
      }
      forget_due(false);
    }
    resample(kTypical);
    fold_if_needed();
  }
  // The answer is about clusters as they are now, not as they were when each row of the batch came.
  if (forgotten > 0.0 && options_.revise)
    for (int row : batch_rows_) put_right(row);
  // The panel of roots follows the trees with rounding of its own. A stream that is loaded makes it anew, so does every batch:
  // then it does not matter when, or whether, a stream was written down.
  forest_.resync_roots();
}

void Stream::insert_slice(std::vector<int>& order, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    ++seen_;
    if (std::exchange(open_[order[i]], 0)) impute_for_roots(forest_, batch_rows_[order[i]], rng_);
    inserter_.insert(~batch_rows_[order[i]]);
    if (options_.revise) revise_after();
  }
  inserter_.part_due();
  inserter_.consolidate();
  if (measure_.has_laws()) gather(order, begin, end);
}

// Rows of a new cluster that come under hyper-parameters eager for new ones stay alone, two by two, though all of them together
// would not; and then they keep the hyper-parameters eager. So when many of a batch stay alone they go in again as if new
// clusters were far less likely, and stay where that put them if it is better under the hyper-parameters as they are.
void Stream::gather(const std::vector<int>& order, int begin, int end) {
  std::vector<int> alone;
  for (int i = begin; i < end; ++i) {
    const int p = forest_.parent(~batch_rows_[order[i]]);
    if (p < 0 && p != kNoRef) alone.push_back(batch_rows_[order[i]]);
  }
  if (static_cast<int>(alone.size()) < std::max(kFewAlone, (end - begin) / 10)) return;
  const double before = forest_.log_joint();
  const Measure drawn = measure_;
  MeasureState calm = measure_.state();
  for (double& a : calm.alpha) a *= kCalm;
  measure_.set(std::move(calm));
  forest_.refresh(true);
  for (int row : alone) reinsert(row);
  inserter_.consolidate();
  measure_ = drawn;
  forest_.refresh(true);
  if (forest_.log_joint() >= before) return;
  for (int row : alone) {
    if (forest_.parent(~row) < 0) continue;
    forest_.take_out(row);
    forest_.add_root(~row, born(~row));
  }
}

// Lee & Choi 2014, algorithm 3: the past is fixed, the new rows go in several times in random orders, with u and the
// hyper-parameters drawn anew in between. All outcomes are compared at the same ones, those drawn after the first: log joints at
// different u differ by more than partitions do.
void Stream::insert_best(std::vector<int>& order, int begin, int end) {
  const Moment past = moment(events_.size());
  insert_slice(order, begin, end);
  if (options_.repeats == 1) return;
  Moment best = moment(past.first_event);
  resample(kFewDraws);
  const Measure common = measure_;
  double highest = forest_.log_joint(common);
  int found = 0;
  for (int m = 1; m < options_.repeats; ++m) {
    if (m > 1) resample(kFewDraws);
    go_back(past, false);
    for (int i = begin; i < end; ++i) std::swap(order[i], order[i + rng_.index(end - i)]);
    insert_slice(order, begin, end);
    const double log_joint = forest_.log_joint(common);
    if (!(log_joint > highest)) continue;
    highest = log_joint;
    found = m;
    if (m + 1 < options_.repeats) best = moment(past.first_event);
  }
  if (found + 1 < options_.repeats) go_back(best, true);
}

// The measure learns of points about to come; the very first ones also give it a first u, as if all were one cluster.
void Stream::count_in(const std::vector<int>& order, int begin, int end, const std::vector<int>& groups) {
  for (int i = begin; i < end; ++i) ++group_sizes_[groups.empty() ? 0 : groups[order[i]]];
  measure_.set_group_sizes(group_sizes_);
  if (seen_ == 0)
    first_guess(measure_, rng_, end - begin, log_q_of(order, begin, end), groups.empty() ? 0 : groups[order[begin]]);
  else if (!measure_.trivial_q())
    forest_.refresh(false);
}

std::vector<double> Stream::log_q_of(const std::vector<int>& order, int begin, int end) const {
  std::vector<double> log_q(measure_.trivial_q() ? 0 : measure_.bases(), 0.0);
  for (int i = begin; i < end; ++i)
    for (std::size_t r = 0; r < log_q.size(); ++r) log_q[r] += measure_.lq(forest_.group(batch_rows_[order[i]]), static_cast<int>(r));
  return log_q;
}

// A young stream revises all its rows whenever their number has doubled. Later that is spread out, a row for a row, and only
// rows that belong elsewhere are moved: the walk to their places costs more than all the rest. Where rows are forgotten clusters
// may move as far as that lets them, so rows are looked at from the start, and all of them about as often as some are forgotten.
void Stream::revise_after() {
  if (seen_ >= std::max<std::int64_t>(64, 2 * swept_at_)) {
    swept_at_ = seen_;
    cursor_ = 0;
    if (seen_ <= kYoung) {
      inserter_.consolidate();
      for (int row = 0; row < likelihood_->rows(); ++row) reinsert(row);
    }
  }
  const bool forgets = options_.half_life > 0.0;
  if (seen_ <= kYoung) {
    doubtful_.clear();
    if (!forgets) return;
  }
  for (int i = 0; i < 2 && !doubtful_.empty(); ++i) {
    const int row = doubtful_.back();
    doubtful_.pop_back();
    reinsert(row);
  }
  int looks = forgets ? std::clamp(kCompared / forest_.roots(), 2, kLooks) : 1;
  for (int i = 0; i < looks; ++i) {
    if (cursor_ >= likelihood_->rows()) cursor_ = 0;
    if (put_right(cursor_++) && forgets) looks = kLooks;
  }
}

// A row that would go to another cluster if it came now goes there.
bool Stream::put_right(int row) {
  if (forest_.parent(~row) == kNoRef || forest_.stays(row)) return false;
  reinsert(row);
  return true;
}

void Stream::reinsert(int row) {
  if (forest_.parent(~row) == kNoRef) return;
  revising_ = true;
  inserter_.reinsert(row);
  revising_ = false;
}

// The u of groups long gone hardly moves any more: those of the last batch are drawn anew, and some of the others at random, so that
// a batch hardly costs more the longer the stream has been. False, and nothing is done, where all of them are few.
bool Stream::renew_some_u(const std::vector<int>& sizes, const std::vector<double>& log_q) {
  const int T = measure_.groups(), R = measure_.bases();
  if (R == 1 || T <= kManyGroups) return false;
  std::vector<char> chosen(T, 0);
  int count = 0;
  for (int row : batch_rows_) count += std::exchange(chosen[forest_.group(row)], 1) == 0;
  if (count > kManyGroups / 2) return false;
  for (int i = 0; i < kManyGroups / 2; ++i) chosen[rng_.index(T)] = 1;
  measure_.update_u(rng_, sizes, log_q, &chosen);
  return true;
}

void Stream::resample(int draws) {
  std::vector<int> sizes;
  std::vector<double> log_q;
  forest_.cluster_sizes(sizes, log_q);
  const bool renewed = renew_some_u(sizes, log_q);
  if (measure_.has_laws() || !(renewed || measure_.u_integrated())) resample_typically(measure_, rng_, sizes, log_q, !renewed, draws);
  forest_.refresh(false);
}

void Stream::extend_groups(const Prior& prior) {
  const int old = measure_.groups();
  if (prior.groups < old || prior.bases != measure_.bases()) throw std::invalid_argument("groups can be added, bases cannot");
  MeasureState state = measure_.state();
  state.log_u.resize(prior.groups, state.log_u[old - 1]);
  group_sizes_.resize(prior.groups, 0);
  measure_ = Measure(prior, group_sizes_);
  measure_.set(std::move(state));
  forest_.refresh(false);
}

// ---- the lives of clusters

// Pieces are cut where the tree allowed it, which need not be where the clusters part: their rows are looked at again.
void Stream::fell(const std::vector<Ref>& pieces) {
  if (doubtful_.size() > kDoubtful) return;
  for (Ref piece : pieces) forest_.leaves(piece, doubtful_);
}

int Stream::born(Ref x) {
  events_.push_back({seen_, Event::born, next_id_, -1, forest_.size(x)});
  return next_id_++;
}

void Stream::note_moved(Ref piece) {
  std::vector<int> rows;
  forest_.leaves(piece, rows);
  Moved& moved = moved_.emplace_back(Moved{events_.size() - 1, {}});
  for (int row : rows) moved.points.push_back(row_point_[row]);
  std::sort(moved.points.begin(), moved.points.end());
}

int Stream::parted(int tag, Ref piece) {
  events_.push_back({seen_, Event::split, next_id_, tag, forest_.size(piece)});
  note_moved(piece);
  return next_id_++;
}

void Stream::joined(int tag, int into, Ref piece) {
  events_.push_back({seen_, Event::joined, tag, into, 0});
  note_moved(piece);
  events_.push_back({seen_, Event::died, tag, -1, 0});
}

void Stream::moved(int from, int to, Ref piece) {
  if (from == to || (revising_ && forest_.size(piece) == 1)) return;
  events_.push_back({seen_, Event::split, to, from, forest_.size(piece)});
  note_moved(piece);
}

// ---- what is known of points old and new

void Stream::labels(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  if (first < home_base_) throw std::invalid_argument("this stream does not remember these points");
  std::vector<int> position;
  const bool many = count > likelihood_->rows() / 8;
  if (many) forest_.labels(position);
  for (std::int64_t i = 0; i < count; ++i) {
    const int at = home_[first - home_base_ + i];
    if (at < kGone / 2) {
      out[i] = at - kGone;
      continue;
    }
    const int k = at < 0 ? forest_.root_of(fold_node_[find(~at)]) : many ? position[at] : forest_.root_of(~at);
    out[i] = forest_.tag(k);
  }
}

void Stream::predictive(const Likelihood& batch, const std::vector<int>& groups, double* out) {
  const int k = forest_.roots(), n = batch.rows();
  auto panel = batch.statistics(Layout::clusters);
  panel->reserve(k + 1);
  for (int j = 0; j < k; ++j) panel->load(j, forest_.panel(), j);
  AlignedVector<double> scores(padded(k + 1));
  std::vector<int> sizes;
  std::vector<double> log_q;
  forest_.cluster_sizes(sizes, log_q);
  NextPoint next(measure_, sizes, log_q, true);  // a stream is one draw of ξ
  std::vector<char> gaps(n, 0);
  for (int row : batch.imputed_rows()) gaps[row] = 1;
  for (int i = 0; i < n; ++i) {
    if (gaps[i]) {
      panel->clear(k);
      panel->log_observed_front(i, k, scores.data());
      scores[k] = panel->log_observed(i, k);
    } else {
      panel->log_predictive_front(i, k, scores.data());
      scores[k] = batch.log_single()[i];
    }
    next.add_to(groups.empty() ? 0 : groups[i], scores.data());
    std::copy_n(scores.data(), k + 1, out + static_cast<std::size_t>(i) * (k + 1));
  }
}

ForestArrays Stream::arrays(std::vector<std::int64_t>& points) {
  std::vector<std::pair<std::int32_t, int>> live;
  for (int row = 0; row < likelihood_->rows(); ++row)
    if (row_point_[row] >= 0) live.emplace_back(row_point_[row], row);
  std::sort(live.begin(), live.end());
  std::vector<int> id(likelihood_->rows(), -1), summaries;
  points.clear();
  for (const auto& [point, row] : live) {
    id[row] = static_cast<int>(points.size());
    points.push_back(point);
  }
  ForestArrays out = forest_.arrays(id, static_cast<int>(points.size()), &summaries);
  points.insert(points.end(), summaries.size(), -1);
  return out;
}

}  // namespace hedgerow
