// The roots of a forest side by side: the nearest to a tree, rows that would move, and what touches.
#include <algorithm>

#include "hedgerow/forest.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {
// Eight running maxima first, so that no step waits for the one before it.
int index_of_largest(const double* x, int k) {
  double top[8];
  for (double& t : top) t = -kInf;
  int i = 0;
  for (; i + 8 <= k; i += 8)
    for (int j = 0; j < 8; ++j) top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
  for (; i < k; ++i) top[0] = x[i] > top[0] ? x[i] : top[0];
  const double best = *std::max_element(top, top + 8);
  for (i = 0; i < k - 1 && x[i] != best;) ++i;
  return i;
}
}  // namespace

void Forest::reserve_roots(int k) {
  panel_->reserve(k + 1);  // one more to hold a tree that is compared with all roots
  if (static_cast<int>(out_.size()) < padded(k + 1)) out_.resize(2 * padded(k + 1));
  while (static_cast<int>(front_.size()) <= k) front_.push_back(static_cast<int>(front_.size()));
  join_.reserve(k);
}

// What turns log p(x | root k) into −log d(root k, x) + log φ(x): the prior weight of one more row, less the slack.
void Forest::load_weights(int k) {
  const Ref a = roots_[k];
  join_.put(k, size(a), log_q(a), slack(a));
}

int Forest::add_root(Ref x, int tag) {
  const int k = roots();
  reserve_roots(k + 1);
  roots_.push_back(x);
  tags_.push_back(tag);
  set_parent(x, ~k);
  sync_root(k);
  return k;
}

void Forest::remove_root(int k) {
  const int last = roots() - 1;
  set_parent(roots_[k], kNoRef);
  if (k != last) {
    roots_[k] = roots_[last];
    tags_[k] = tags_[last];
    set_parent(roots_[k], ~k);
    panel_->copy(k, last);
    load_weights(k);
  }
  roots_.pop_back();
  tags_.pop_back();
}

void Forest::sync_root(int k, int added) {
  const Ref a = roots_[k];
  if (a < 0) {
    panel_->clear(k);
    panel_->add(k, ~a);
  } else if (added >= 0) {
    panel_->add(k, added);
  } else {
    panel_->load(k, *nodes_, a);
  }
  load_weights(k);
}

int Forest::root_of(Ref a) const {
  int p = parent(a);
  while (p >= 0) p = inner_[p].parent;
  return p == kNoRef ? -1 : ~p;
}

// out_[k] = log φ_h(row) − log d(root k, row), as far as k may be the nearest.
void Forest::scan(int row) {
  const int k = roots();
  double* out = out_.data();
  evaluations_ += k;
  panel_->log_predictive_front(row, k, out);
  join_.add_to_highest(group(row), k, out);
}

// log weight of root k less that of the same root without one row of group t.
double Forest::weight_step(int k, int t) const {
  const Ref root = roots_[k];
  const int m = size(root);
  if (plain_) return measure_.log_kappa(m) - measure_.log_kappa(m - 1);
  return weight(root) - measure_.log_weight(m - 1, log_q(root), measure_.lq_row(t), -1.0);
}

bool Forest::stays(int row, int own, double step) {
  const Ref root = roots_[own];
  scan(row);
  const double here = step - slack(root) + nodes_->log_predictive_without(row, root);
  out_[own] = -kInf;
  return here >= *std::max_element(out_.data(), out_.data() + roots()) && here >= phi_h(~row);
}

bool Forest::stays(int row) {
  const int own = root_of(~row);
  return size(roots_[own]) > 1 && stays(row, own, weight_step(own, group(row)));
}

void Forest::movers(std::span<const int> rows, std::vector<int>& out) {
  const int T = measure_.groups();
  std::vector<double> steps(static_cast<std::size_t>(roots()) * T, -kInf);
  std::vector<int> own;
  labels(own);
  out.clear();
  for (int row : rows) {
    const int k = own[row];
    if (size(roots_[k]) == 1) {
      out.push_back(row);
      continue;
    }
    double& step = steps[static_cast<std::size_t>(k) * T + group(row)];
    if (step == -kInf) step = weight_step(k, group(row));
    if (!stays(row, k, step)) out.push_back(row);
  }
}

int Forest::nearest(Ref x, double* log_d) {
  const int k = roots();
  *log_d = kInf;
  int best = -1;
  if (adjacency_ != nullptr) {
    mark_touched(x);
    const double phi_x = phi_t(x);
    for (int j : touched_roots_) {
      const double d = phi_t(roots_[j]) + phi_x - joined_weight(roots_[j], x) - joint(roots_[j], x);
      if (d < *log_d) {
        *log_d = d;
        best = j;
      }
    }
    return best;
  }
  if (k == 0) return -1;
  double* out = out_.data();
  if (x < 0) {
    scan(~x);
    best = index_of_largest(out, k);
    *log_d = phi_h(x) - out[best];
    return best;
  }
  evaluations_ += k;
  panel_->load(k, *nodes_, x);
  panel_->log_marginal_merged(k, {front_.data(), static_cast<std::size_t>(k)}, out);
  const double phi_x = phi_t(x);
  for (int j = 0; j < k; ++j) {
    const double d = phi_t(roots_[j]) + phi_x - joined_weight(roots_[j], x) - out[j];
    if (d < *log_d) {
      *log_d = d;
      best = j;
    }
  }
  return best;
}

void Forest::joint_front(Ref x, int k, double* out) {
  evaluations_ += k;
  if (x < 0) {
    panel_->log_predictive_front(~x, k, out);
    for (int j = 0; j < k; ++j) out[j] += log_like(roots_[j]);
    return;
  }
  const int scratch = roots();
  panel_->load(scratch, *nodes_, x);
  panel_->log_marginal_merged(scratch, {front_.data(), static_cast<std::size_t>(k)}, out);
}

void Forest::mark_touched(Ref x) {
  ++stamp_;
  touched_roots_.clear();
  touched_rows_.clear();
  leaves(x, touched_rows_);
  for (int row : touched_rows_)
    for (std::int64_t i = adjacency_->indptr[row]; i < adjacency_->indptr[row + 1]; ++i) {
      Ref a = ~adjacency_->indices[i];
      while (!stamped(a)) {
        (a >= 0 ? inner_stamp_[a] : leaf_stamp_[~a]) = stamp_;
        const int p = parent(a);
        if (p >= 0) {
          a = p;
        } else if (p != kNoRef) {
          touched_roots_.push_back(~p);
        }
      }
    }
  std::sort(touched_roots_.begin(), touched_roots_.end());
}

}  // namespace hedgerow
