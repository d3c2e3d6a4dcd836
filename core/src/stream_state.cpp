// A stream as plain arrays and back; what comes back is checked, since files come from anywhere.
#include <climits>
#include <functional>
#include <stdexcept>
#include <utility>

#include "hedgerow/stream.hpp"

namespace hedgerow {
namespace {

void need(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

const std::vector<int>& fitting(const std::vector<int>& sizes, const Prior& prior) {
  need(static_cast<int>(sizes.size()) == prior.groups, "every group has a size");
  return sizes;
}

}  // namespace

StreamState Stream::state() {
  StreamState s;
  likelihood_->save_imputed(s.imputed);
  const auto& inner = forest_.inner();
  s.packed_start.push_back(0);
  for (int c = 0; c < static_cast<int>(inner.size()); ++c) {
    s.left.push_back(inner[c].left);
    s.right.push_back(inner[c].right);
    s.size.push_back(inner[c].size);
    s.log_like.push_back(inner[c].log_like);
    s.slack.push_back(inner[c].slack);
    if (inner[c].size > 0) forest_.statistics().pack(c, s.packed);
    s.packed_start.push_back(static_cast<std::int64_t>(s.packed.size()));
  }
  s.free_nodes = forest_.free_list();
  s.log_q = forest_.all_log_q();
  for (int k = 0; k < forest_.roots(); ++k) {
    s.roots.push_back(forest_.root(k));
    s.tags.push_back(forest_.tag(k));
  }
  for (int row = 0; row < likelihood_->rows(); ++row) s.groups.push_back(forest_.group(row));
  s.group_sizes = group_sizes_;
  s.compared = inserter_.compared();
  s.row_point = row_point_;
  s.free_rows = free_rows_;
  s.due = due_;
  s.now = now_;
  s.doubtful = doubtful_;
  if (options_.remember) {
    s.home = home_;
    for (int f = 0; f < static_cast<int>(folds_.size()); ++f) s.folds.push_back(find(f));
    s.fold_node = fold_node_;
  }
  for (const Event& e : events_) {
    s.event_at.push_back(e.at);
    s.event_kind.push_back(e.kind);
    s.event_cluster.push_back(e.cluster);
    s.event_other.push_back(e.other);
    s.event_size.push_back(e.size);
  }
  s.measure = measure_.state();
  s.rng = rng_.state();
  s.seen = seen_;
  s.swept_at = swept_at_;
  s.cursor = cursor_;
  s.next_id = next_id_;
  return s;
}

Stream::Moment Stream::moment(std::size_t first_event) {
  Moment out;
  out.inner = forest_.inner();
  out.packed_start.push_back(0);
  for (int c = 0; c < static_cast<int>(out.inner.size()); ++c) {
    if (out.inner[c].size > 0) forest_.statistics().pack(c, out.packed);
    out.packed_start.push_back(out.packed.size());
  }
  out.free_nodes = forest_.free_list();
  out.log_q = forest_.all_log_q();
  for (int k = 0; k < forest_.roots(); ++k) {
    out.roots.push_back(forest_.root(k));
    out.tags.push_back(forest_.tag(k));
  }
  out.compared = inserter_.compared();
  out.doubtful = doubtful_;
  out.first_event = first_event;
  out.moved = moved_;
  out.events.assign(events_.begin() + static_cast<std::ptrdiff_t>(first_event), events_.end());
  out.measure = measure_.state();
  out.seen = seen_;
  out.swept_at = swept_at_;
  out.next_id = next_id_;
  out.cursor = cursor_;
  return out;
}

void Stream::go_back(const Moment& then, bool with_measure) {
  if (with_measure) measure_.set(then.measure);
  Statistics& statistics = forest_.statistics();
  for (int c = 0; c < static_cast<int>(then.inner.size()); ++c) {
    const std::size_t begin = then.packed_start[c], end = then.packed_start[c + 1];
    if (begin == end) {
      statistics.clear(c);
    } else {
      statistics.unpack(c, {then.packed.data() + begin, end - begin});
    }
  }
  forest_.restore(then.inner, then.free_nodes, then.log_q, then.roots, then.tags);
  inserter_.compared() = then.compared;
  doubtful_ = then.doubtful;
  events_.resize(then.first_event);
  moved_ = then.moved;
  events_.insert(events_.end(), then.events.begin(), then.events.end());
  seen_ = then.seen;
  swept_at_ = then.swept_at;
  next_id_ = then.next_id;
  cursor_ = then.cursor;
  if (!with_measure) forest_.refresh(false);
}

Stream::Stream(std::shared_ptr<Likelihood> likelihood, const Prior& prior, StreamOptions options, const StreamState& s)
    : likelihood_(std::move(likelihood)),
      options_(options),
      measure_(prior, fitting(s.group_sizes, prior)),
      forest_(*likelihood_, measure_, {}),
      inserter_(forest_, InsertOptions{}, this),
      group_sizes_(s.group_sizes) {
  need(likelihood_->load_imputed(s.imputed).empty(), "there are more fillings than missing entries");
  const int rows = likelihood_->rows(), nodes = static_cast<int>(s.left.size()), scratch = Forest::kScratch;
  need(nodes >= scratch, "nodes are missing");
  for (const auto* v : {&s.right, &s.size}) need(v->size() == s.left.size(), "node arrays must be of one length");
  for (const auto* v : {&s.log_like, &s.slack}) {
    need(v->size() == s.left.size(), "node arrays must be of one length");
    for (double x : *v) need(std::isfinite(x), "potentials must be finite");
  }
  need(s.packed_start.size() == s.left.size() + 1 && s.packed_start.front() == 0 &&
           s.packed_start.back() == static_cast<std::int64_t>(s.packed.size()),
       "packed statistics must belong to nodes");
  need(static_cast<int>(s.groups.size()) == rows && static_cast<int>(s.row_point.size()) == rows, "row arrays must be of one length");
  need(s.roots.size() == s.tags.size(), "every root has a tag");
  need(s.log_q.size() == (measure_.trivial_q() ? 0 : static_cast<std::size_t>(nodes) * measure_.bases()),
       "mixing sums must belong to nodes");

  // Every tree hangs together: each node and row is a root, a child of one node, or free; sizes add up, so there are no cycles.
  std::vector<int> node_seen(nodes, 0), row_seen(rows, 0);
  auto see = [&](Ref a) {
    const bool leaf = a < 0;
    need(leaf ? ~a < rows && a != kNoRef : a >= scratch && a < nodes, "references must be within the forest");
    need((leaf ? row_seen[~a] : node_seen[a])++ == 0, "every tree has one parent");
    return leaf ? 1 : s.size[a];
  };
  for (int c = scratch; c < nodes; ++c) {
    const Ref l = s.left[c], r = s.right[c];
    need((l == kNoRef) == (r == kNoRef), "a node has two children or none");
    if (l != kNoRef) need(static_cast<std::int64_t>(see(l)) + see(r) == s.size[c], "sizes must add up");
  }
  need(s.next_id >= 0 && static_cast<std::size_t>(s.next_id) <= s.event_at.size(), "every id has an event that made it");
  std::vector<int> tag_seen(s.next_id, 0);
  for (std::size_t k = 0; k < s.roots.size(); ++k) {
    see(s.roots[k]);
    need(s.tags[k] >= 0 && s.tags[k] < s.next_id && tag_seen[s.tags[k]]++ == 0, "tags must be distinct ids");
  }
  for (int c : s.free_nodes) need(c >= scratch && c < nodes && node_seen[c]++ == 0 && s.size[c] == 0, "free nodes must be free");
  for (int c = scratch; c < nodes; ++c) need(node_seen[c] == 1 && s.size[c] >= 0, "every node is used or free");
  std::int64_t total = 0;
  for (Ref root : s.roots) total += root < 0 ? 1 : s.size[root];
  const bool forgets = options_.half_life > 0.0;
  need((forgets ? total <= s.seen : total == s.seen) && s.seen > 0 && s.seen <= INT_MAX - 8, "the roots must hold all points seen");
  const std::int64_t held = std::exchange(total, 0);
  for (int n : s.group_sizes) {
    need(n >= 0, "group sizes must not be negative");
    total += n;
  }
  need(total == held, "the groups must hold all points seen");
  need(std::isfinite(s.now) && s.due.size() == (forgets ? static_cast<std::size_t>(rows) : 0), "rows are forgotten or they are not");
  for (double due : s.due) need(std::isfinite(due), "every row has its time");
  for (int row = 0; row < rows; ++row) {
    need((row_seen[row] == 1) == (s.row_point[row] >= 0) && s.row_point[row] < s.seen, "rows in trees are those that hold points");
    need(s.groups[row] >= 0 && s.groups[row] < measure_.groups(), "groups must be within the prior's");
  }
  for (int row : s.free_rows) need(row >= 0 && row < rows && row_seen[row]++ == 0, "free rows must be free");

  need(s.swept_at >= 0 && s.swept_at <= s.seen, "the last sweep is past");
  for (int size : s.compared) need(size >= 0 && size <= s.seen, "roots had no more points than were seen");
  for (int row : s.doubtful) need(row >= 0 && row < rows, "doubtful rows must be rows");
  if (options_.remember) {
    need(static_cast<std::int64_t>(s.home.size()) == s.seen && s.folds.size() == s.fold_node.size(), "every point has a place");
    const int folds = static_cast<int>(s.folds.size());
    std::vector<char> taken(nodes, 0);
    for (int f = 0; f < folds; ++f) {
      need(s.folds[f] >= 0 && s.folds[f] < folds && s.folds[s.folds[f]] == s.folds[f], "folds must be settled");
      const int c = s.fold_node[s.folds[f]];
      need(c >= scratch && c < nodes && s.left[c] == kNoRef && s.size[c] > 0, "folds must be summary leaves");
      need(s.folds[f] != f || taken[c]++ == 0, "a summary leaf is one fold");
    }
    for (std::size_t i = 0; i < s.home.size(); ++i) {
      const int at = s.home[i];
      if (at < kGone / 2) {
        need(forgets && at - kGone < s.next_id, "rows that are forgotten were in a cluster");
        continue;
      }
      need(at >= 0 ? at < rows && s.row_point[at] == static_cast<int>(i) : ~at < folds, "every point has a place");
    }
    home_ = s.home;
    folds_ = s.folds;
    fold_node_ = s.fold_node;
    node_fold_.assign(nodes, -1);
    for (int f = 0; f < folds; ++f)
      if (folds_[f] == f) node_fold_[fold_node_[f]] = f;
  }
  for (const auto* v : {&s.event_kind, &s.event_cluster, &s.event_other, &s.event_size})
    need(v->size() == s.event_at.size(), "event arrays must be of one length");
  for (std::size_t i = 0; i < s.event_at.size(); ++i) {
    const bool ids =
        s.event_cluster[i] >= 0 && s.event_cluster[i] < s.next_id && s.event_other[i] >= -1 && s.event_other[i] < s.next_id;
    need(ids && s.event_kind[i] >= 0 && s.event_kind[i] <= Event::died, "events must be of known kinds and clusters");
  }
  for (std::size_t i = 0; i < s.event_at.size(); ++i)
    events_.push_back({s.event_at[i], s.event_kind[i], s.event_cluster[i], s.event_other[i], s.event_size[i]});
  need(measure_.possible(s.measure), "u and the hyper-parameters must fit the prior and lie in their ranges");
  need(s.rng[0] | s.rng[1] | s.rng[2] | s.rng[3], "random numbers do not come from nothing");
  for (double v : s.log_q) need(v < kInf, "mixing sums must be finite or minus infinity");
  measure_.set(s.measure);

  for (int row = 0; row < rows; ++row) forest_.set_group(row, s.groups[row]);
  PagedVector<Forest::Inner> inner(nodes);
  forest_.statistics().reserve(nodes);
  for (int c = 0; c < nodes; ++c) {
    inner[c] = {s.left[c], s.right[c], kNoRef, s.size[c], 1, s.log_like[c], s.slack[c]};
    if (s.size[c] == 0) continue;
    need(s.packed_start[c] <= s.packed_start[c + 1] && s.packed_start[c] >= 0 &&
             s.packed_start[c + 1] <= static_cast<std::int64_t>(s.packed.size()),
         "packed statistics must belong to nodes");
    forest_.statistics().unpack(c, std::span(s.packed).subspan(s.packed_start[c], s.packed_start[c + 1] - s.packed_start[c]));
  }
  forest_.restore(std::move(inner), s.free_nodes, s.log_q, s.roots, s.tags);
  need(forest_.consistent(), "statistics must be those of the trees");
  inserter_.compared() = s.compared;
  row_point_ = s.row_point;
  free_rows_ = s.free_rows;
  doubtful_ = s.doubtful;
  due_ = s.due;
  now_ = s.now;
  for (int row = 0; row < rows && forgets; ++row)
    if (row_point_[row] >= 0) coming_.emplace_back(due_[row], row);
  std::make_heap(coming_.begin(), coming_.end(), std::greater<>());
  rng_.set_state(s.rng);
  seen_ = s.seen;
  if (!options_.remember) home_base_ = seen_;
  swept_at_ = s.swept_at;
  need(s.cursor >= 0, "the cursor must be a row");
  cursor_ = s.cursor;
  next_id_ = s.next_id;
}

}  // namespace hedgerow
