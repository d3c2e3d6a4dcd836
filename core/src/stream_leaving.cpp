// Rows that leave the trees of a stream: folded into summary leaves when memory is bounded, or forgotten when their time is up.
#include <algorithm>
#include <functional>

#include "hedgerow/stream.hpp"

namespace hedgerow {
namespace {
constexpr int kSteps = 16;  // of a half-life: rows of one step come and go together
constexpr double kLogTwo = 0.693147180559945309;
constexpr int kSlice = 1 << 14;  // a large batch is taken in as if it came in batches of this size
}  // namespace

// Slices are short next to the half-life, and in the order of the rows if some of them are to be forgotten before others come.
int Stream::slice_end(int begin, const std::vector<double>& when) const {
  const int n = static_cast<int>(batch_rows_.size()), most = std::min(n, begin + kSlice);
  if (!(options_.half_life > 0.0)) return most;
  const double step = options_.half_life / kSteps;
  if (!options_.clock) return begin + std::min(most - begin, std::max(1, static_cast<int>(std::min(step, 1e9))));
  int end = begin + 1;
  const double until = std::max(seen_ == 0 ? when[begin] : now_, when[begin]) + step;
  while (end < most && when[end] <= until) ++end;
  return end;
}

// ---- forgetting: every row lives as long as it is given when it comes, half of them longer than a half-life

void Stream::live(const std::vector<double>& when) {
  due_.resize(likelihood_->rows(), 0.0);
  if (seen_ == 0 && options_.clock) now_ = *std::min_element(when.begin(), when.end());
  for (std::size_t i = 0; i < batch_rows_.size(); ++i) {
    const double came = options_.clock ? when[i] : static_cast<double>(seen_ + static_cast<std::int64_t>(i) + 1);
    due_[batch_rows_[i]] = came + options_.half_life * rng_.exponential() / kLogTwo;
  }
}

// The rows whose time is up; the very last one stays unless more are about to come.
void Stream::forget_due(bool to_the_last) {
  int gone = 0;
  while (!coming_.empty() && coming_.front().first <= now_ && (to_the_last || coming_.size() > 1)) {
    std::pop_heap(coming_.begin(), coming_.end(), std::greater<>());
    const int row = coming_.back().second;
    coming_.pop_back();
    forget(row);
    ++gone;
  }
  if (gone == 0 || to_the_last) return;
  measure_.set_group_sizes(group_sizes_);
  if (!measure_.trivial_q()) forest_.refresh(false);
}

void Stream::forget(int row) {
  const int tag = forest_.tag(forest_.root_of(~row));
  if (!inserter_.remove(row)) events_.push_back({seen_, Event::died, tag, -1, 0});
  --group_sizes_[forest_.group(row)];
  if (row_point_[row] >= home_base_) home_[row_point_[row] - home_base_] = kGone + tag;
  row_point_[row] = -1;
  free_rows_.push_back(row);
}

// ---- folding

int Stream::find(int fold) const {
  while (folds_[fold] != fold) fold = folds_[fold] = folds_[folds_[fold]];
  return fold;
}

void Stream::fold_if_needed() {
  if (options_.max_nodes <= 0 || forest_.inner_nodes() <= options_.max_nodes) return;
  // Down to half, so that folding is rare; the least detail is lost first.
  std::vector<int> candidates;
  for (bool certain_only : {true, false})
    for (int largest = 4;; largest *= 2) {
      const int left_over = forest_.foldable(largest, certain_only, candidates);
      const bool all = largest > (1 << 29);
      if (left_over > options_.max_nodes / 2 && !(all && (left_over <= options_.max_nodes || !certain_only))) {
        if (all) break;
        continue;
      }
      for (int c : candidates) fold_node(c);
      forest_.count_leaves();
      forest_.refresh(false);
      return;
    }
}

void Stream::fold_node(int c) {
  std::vector<int> rows, leaves;
  forest_.fold(c, rows, leaves);
  for (int row : rows) free_rows_.push_back(row);
  node_fold_.resize(forest_.inner().size(), -1);
  // The folds of summary leaves that vanish in this one go with it; the first of them stands for all.
  int fold = -1;
  for (int leaf : leaves) {
    if (node_fold_[leaf] < 0) continue;
    if (fold < 0) fold = node_fold_[leaf];
    folds_[node_fold_[leaf]] = fold;
    node_fold_[leaf] = -1;
  }
  if (fold < 0) {
    fold = static_cast<int>(folds_.size());
    folds_.push_back(fold);
    fold_node_.push_back(c);
  }
  fold_node_[fold] = c;
  node_fold_[c] = fold;
  for (int row : rows) {
    if (row_point_[row] >= home_base_) home_[row_point_[row] - home_base_] = ~fold;
    row_point_[row] = -1;
  }
}

}  // namespace hedgerow
