// Insertion, lifting and cutting; the rules are in ibhc.hpp.
#include "hedgerow/ibhc.hpp"

#include <algorithm>
#include <limits>

namespace hedgerow {
namespace {
constexpr double kHair = -4.6051701859880914;  // log 0.01: places that change log φ_t by less are all the same to us
constexpr double kShare = 0.7;                 // no child of a free node holds more than this share of its leaves
constexpr double kPreference = 3.0;            // nats; a stronger wish for one child beats the balance ...
constexpr double kMostShare = 0.85;            // ... up to here among summaries, which are certainly one cluster
constexpr int kSmall = 6;                      // smaller sets are not worth balancing
}  // namespace

void Inserter::insert(Ref x) { insert(x, -1, -1, true); }

// `tag` is the cluster that x stands for (-1: none yet), `from` the cluster it was cut from.
void Inserter::insert(Ref x, int tag, int from, bool repair) {
  double log_d;
  const int k = f_.nearest(x, &log_d);
  if (k < 0 || log_d > 0.0) {
    if (tag < 0) tag = witness_ == nullptr ? next_tag_++ : from < 0 ? witness_->born(x) : witness_->parted(from, x);
    f_.add_root(x, tag);
    note_compared(tag, f_.size(x));
    return;
  }
  if (witness_ != nullptr) {
    if (tag >= 0 && f_.size(x) > f_.size(f_.root(k))) {
      witness_->joined(f_.tag(k), tag, f_.root(k));
      f_.set_tag(k, tag);
    } else if (tag >= 0) {
      witness_->joined(tag, f_.tag(k), x);
    } else if (from >= 0) {
      witness_->moved(from, f_.tag(k), x);
    }
  }
  const Ref host = f_.root(k);
  const double joined = f_.phi_t(host) + f_.phi_t(x) - log_d;
  if (options_.balance && f_.size(x) > f_.size(host)) {  // the smaller tree goes into the larger
    const int kept = f_.tag(k);
    f_.remove_root(k);
    const int at = f_.add_root(x, kept);
    if (f_.adjacency() != nullptr) f_.mark_touched(host);
    return seq_insert(at, host, joined, repair);
  }
  seq_insert(k, x, joined, repair);
}

void Inserter::seq_insert(int k, Ref x, double log_phi_joined, bool repair) {
  pending_.clear();
  attached_.clear();
  const int added = x < 0 ? ~x : -1;
  const int at = descend(f_.root(k), x, false, log_phi_joined);
  refresh_up(at);
  reinsert_pending();
  std::vector<Ref> pieces;
  bool cut = false;
  if (options_.top) {
    f_.sync_root(k, added);
    return;
  }
  if (options_.balance) {
    for (int c : attached_) lift_up(c);
    cut = cut_at_root(k, pieces);
  } else {
    cut = cut_at_lowest(k, at, pieces);
  }
  if (!cut) {
    f_.sync_root(k, added);
    return;
  }
  mend(k, pieces, f_.tag(k), repair);
}

// Root k has fallen into pieces: back in with them, or make roots of them.
void Inserter::mend(int k, std::vector<Ref>& pieces, int tag, bool repair) {
  f_.remove_root(k);
  if (witness_ != nullptr) witness_->fell(pieces);
  if (options_.balance || witness_ != nullptr)
    std::stable_sort(pieces.begin(), pieces.end(), [&](Ref a, Ref b) { return f_.size(a) > f_.size(b); });
  int own = tag;  // the first piece stands for the cluster
  for (Ref piece : pieces) {
    if (repair && options_.reinsert) {
      insert(piece, own, tag, false);
    } else {
      if (own < 0) own = witness_ == nullptr ? next_tag_++ : witness_->parted(tag, piece);
      f_.add_root(piece, own);
    }
    own = -1;
  }
}

void Inserter::number_roots() {
  for (int k = 0; k < f_.roots(); ++k) f_.set_tag(k, k);
  next_tag_ = f_.roots();
}

void Inserter::reinsert(int row) {
  const int before = f_.tag(f_.root_of(~row));
  const Ref s = f_.take_out(row);
  insert(~row, s == kNoRef ? before : -1, before, true);
}

bool Inserter::remove(int row) {
  const int k = f_.root_of(~row), tag = f_.tag(k);
  if (tag < static_cast<int>(compared_.size()) && compared_[tag] > 0) --compared_[tag];
  const Ref s = f_.take_out(row);
  if (s == kNoRef) return false;
  lift_up(f_.parent(s));
  std::vector<Ref> pieces;
  if (cut_at_root(k, pieces)) {
    mend(k, pieces, tag, true);
  } else {
    f_.sync_root(k);
  }
  return true;
}

// Puts x somewhere below (or beside) c and returns the new pair. `again`: x was taken from here to be placed better, so no
// place here changes φ_t of the root, and nothing else is disturbed for it.
int Inserter::descend(Ref c, Ref x, bool again, double log_phi_joined) {
  bool free = again;
  double weight = std::numeric_limits<double>::quiet_NaN();  // of c with x, once known
  if (again && f_.splittable(c)) log_phi_joined = f_.joined_weight(c, x) + f_.joint(c, x);
  const double phi_x = f_.phi_t(x);
  const int leaves_x = f_.leaf_count(x);
  while (f_.splittable(c) && !options_.top) {
    const Ref l = f_.left(c), r = f_.right(c);
    f_.prefetch_children(l);
    f_.prefetch_children(r);
    double with_l, with_r;
    f_.joint_children(c, x, &with_l, &with_r);
    if (!f_.touches(l)) with_l = -kInf;
    if (!f_.touches(r)) with_r = -kInf;
    const double phi_l = f_.phi_t(l), phi_r = f_.phi_t(r);
    const double weight_l = f_.joined_weight(l, x), weight_r = f_.joined_weight(r, x);
    const double joined_l = weight_l + with_l, joined_r = weight_r + with_r;
    const double d_l = phi_l + phi_x - joined_l, d_r = phi_r + phi_x - joined_r, d_c = phi_l + phi_r - f_.phi_h(c);
    const bool alike = options_.balance && std::max({f_.phi_t(c) + phi_x, joined_l + phi_r, joined_r + phi_l}) - log_phi_joined < kHair;
    free = free || alike;
    bool to_left;
    if (!free) {
      if (d_c <= std::min(d_l, d_r)) break;
      to_left = d_l <= d_r;
    } else {
      if (std::min(d_l, d_r) > 0.0 || leaves_x * kShare >= f_.leaf_count(c) * (1.0 - kShare)) break;
      const double wish = (with_l - f_.log_like(l)) - (with_r - f_.log_like(r));
      to_left = wish >= 0.0;
      const int whole = f_.leaf_count(c);
      if (whole >= kSmall) {
        const Ref big = to_left ? l : r, small = to_left ? r : l;
        if (!again && f_.leaf_count(big) > kShare * whole && d_c < kHair) {
          // A lopsided node that means nothing: its small side goes in again, from here.
          const int anchor = f_.parent(c);
          const bool is_left = anchor >= 0 && f_.left(anchor) == c;
          pending_.push_back({small, anchor, is_left});
          f_.splice(c, big);
          c = big;
          weight = to_left ? weight_l : weight_r;
          log_phi_joined = to_left ? joined_l : joined_r;
          continue;
        }
        const double share = static_cast<double>(f_.leaf_count(big) + leaves_x) / (whole + leaves_x);
        const bool folded = f_.size(c) > whole;
        const bool torn = share > kShare && (again || std::abs(wish) < kPreference || (folded && share > kMostShare));
        // Where all places are alike x may go with what it would not join by itself.
        if (torn && (alike || (to_left ? d_r : d_l) <= 0.0)) to_left = !to_left;
      }
    }
    log_phi_joined = to_left ? joined_l : joined_r;
    const Ref next = to_left ? l : r;
    f_.absorb(c, x, weight);
    weight = to_left ? weight_l : weight_r;
    c = next;
  }
  const int at = f_.join(c, x, weight);
  attached_.push_back(at);
  return at;
}

void Inserter::reinsert_pending() {
  // Last out, first in: a piece's anchor lies above everything that later pieces can change.
  while (!pending_.empty()) {
    const Pending p = pending_.back();
    pending_.pop_back();
    const Ref start = p.anchor < 0 ? f_.root(~p.anchor) : p.left ? f_.left(p.anchor) : f_.right(p.anchor);
    if (f_.adjacency() != nullptr) f_.mark_touched(p.piece);
    refresh_up(descend(start, p.piece, true, 0.0));
  }
}

void Inserter::refresh_up(int c) {
  for (c = f_.parent(c); c >= 0; c = f_.parent(c)) f_.refresh_slack(c);
}

void Inserter::lift_up(int c) {
  bool changed = false;
  for (; c >= 0; c = f_.parent(c)) {
    if (changed) f_.refresh_slack(c);
    if (f_.discordant(c) && f_.parent(c) >= 0) {
      lift(c);
      changed = true;
    }
  }
}

bool Inserter::touch_each_other(Ref a, Ref b) {
  if (f_.adjacency() == nullptr) return true;
  const bool a_smaller = f_.size(a) < f_.size(b);
  f_.mark_touched(a_smaller ? a : b);
  return f_.touches(a_smaller ? b : a);
}

// c = (a, b) has d > 1 and a sibling s: of the three pairs, the one of least d is joined first.
void Inserter::lift(int c) {
  const int p = f_.parent(c);
  const Ref s = f_.sibling(p, c), a = f_.left(c), b = f_.right(c);
  const double d_c = f_.log_d(c), phi_s = f_.phi_t(s);
  const double like_a = touch_each_other(s, a) ? f_.joint(s, a) : -kInf;
  const double like_b = touch_each_other(s, b) ? f_.joint(s, b) : -kInf;
  const double d_a = phi_s + f_.phi_t(a) - f_.joined_weight(s, a) - like_a;
  const double d_b = phi_s + f_.phi_t(b) - f_.joined_weight(s, b) - like_b;
  if (std::min(d_a, d_b) >= d_c) return;
  // What is gained is φ_h(s ∪ a)·φ_t(b), nothing next to φ_h(p) where p is certainly one cluster. Rows that are too few to know
  // one another would climb all the same, one by one, and make a path of the tree.
  const double gained = phi_s + f_.phi_t(a) + f_.phi_t(b) - std::min(d_a, d_b);
  if (gained - f_.phi_h(p) < kHair) return;
  if (d_a <= d_b) {
    f_.rotate(c, a, like_a);
  } else {
    f_.rotate(c, b, like_b);
  }
}

void Inserter::shatter(Ref a, std::vector<Ref>& pieces) {
  if (!f_.discordant(a)) {
    pieces.push_back(a);
    return;
  }
  const Ref l = f_.left(a), r = f_.right(a);
  f_.split(a);
  shatter(l, pieces);
  shatter(r, pieces);
}

bool Inserter::cut_at_root(int k, std::vector<Ref>& pieces) {
  const Ref root = f_.root(k);
  if (!f_.discordant(root)) return false;
  // The position must hold a tree until it is removed.
  const Ref l = f_.left(root), r = f_.right(root);
  f_.split(root);
  shatter(l, pieces);
  shatter(r, pieces);
  return true;
}

// The papers' cut: at the lowest refreshed node with d > 1; its children and every sibling on the way up are the pieces.
bool Inserter::cut_at_lowest(int k, int from, std::vector<Ref>& pieces) {
  int c = from;
  while (c >= 0 && !f_.discordant(c)) c = f_.parent(c);
  if (c < 0) return false;
  (void)k;
  Ref below = kNoRef;
  while (c >= 0) {
    const int up = f_.parent(c);
    const Ref l = f_.left(c), r = f_.right(c);
    f_.split(c);
    if (l != below) pieces.push_back(l);
    if (r != below) pieces.push_back(r);
    below = c;
    c = up;
  }
  return true;
}

void Inserter::note_compared(int tag, int size) {
  if (tag >= static_cast<int>(compared_.size())) compared_.resize(tag + 1 + tag / 2, 0);
  compared_[tag] = size;
}

// Where the root of this tag is, -1 if nowhere; roots stay where they are unless a removal moves them.
int Inserter::position(int tag, int likely) const {
  if (likely >= 0 && likely < f_.roots() && f_.tag(likely) == tag) return likely;
  for (int k = 0; k < f_.roots(); ++k)
    if (f_.tag(k) == tag) return k;
  return -1;
}

bool Inserter::due(int k) const {
  const int tag = f_.tag(k), before = tag < static_cast<int>(compared_.size()) ? compared_[tag] : 0;
  return f_.size(f_.root(k)) - before >= (before + 1) / 2;
}

void Inserter::part_due() {
  for (int k = f_.roots() - 1; k >= 0; --k)
    if (k < f_.roots() && due(k)) part_root(k, nullptr);
}

void Inserter::consolidate() {
  // Smallest first: a small tree goes into a larger one more cheaply, and more often.
  struct Due {
    int size, tag, at;
  };
  std::vector<Due> list;
  for (int k = 0; k < f_.roots(); ++k)
    if (due(k)) list.push_back({f_.size(f_.root(k)), f_.tag(k), k});
  std::sort(list.begin(), list.end(), [](const Due& a, const Due& b) { return a.size != b.size ? a.size < b.size : a.tag < b.tag; });
  for (const auto& [size, tag, at] : list) {
    const int k = position(tag, at);
    if (k < 0 || f_.roots() == 1) continue;
    const Ref x = f_.root(k);
    note_compared(tag, f_.size(x));
    f_.remove_root(k);
    insert(x, tag, tag, false);
  }
}

void Inserter::part(Rng* rng) {
  std::vector<std::pair<int, int>> due;  // tag, and where it was seen
  for (int k = 0; k < f_.roots(); ++k)
    if (f_.splittable(f_.root(k))) due.emplace_back(f_.tag(k), k);
  // Rows that change sides can bring a tree back to what it was, and an eager prior would have every row alone: a pass parts only so many.
  std::size_t left = 64 + 4 * due.size();
  while (!due.empty() && left > 0) {
    const auto [tag, at] = due.back();
    due.pop_back();
    const int k = position(tag, at);
    if (k < 0 || !part_root(k, rng)) continue;
    --left;
    for (int j = f_.roots() - 2; j < f_.roots(); ++j) due.emplace_back(f_.tag(j), j);
  }
}

bool Inserter::part_root(int k, Rng* rng) {
  if (!halves_.find(f_.root(k), rng)) return false;
  const int tag = f_.tag(k);
  f_.remove_root(k);
  for (int c : halves_.above()) f_.split(c);
  std::vector<Ref> trees = halves_.blocks();
  for (const auto& [a, b] : halves_.joins()) trees[a] = f_.join(trees[a], trees[b]);
  const int larger = f_.size(trees[halves_.side(0)]) < f_.size(trees[halves_.side(1)]);
  int tags[2], at[2];
  for (int s : {larger, 1 - larger}) {
    const Ref x = trees[halves_.side(s)];
    tags[s] = s == larger ? tag : witness_ == nullptr ? next_tag_++ : witness_->parted(tag, x);
    at[s] = f_.add_root(x, tags[s]);
    note_compared(tags[s], 0);
  }
  for (const auto& [row, to] : halves_.strays()) move(row, tags[to], at[to]);
  return true;
}

// A row goes to the tree of this tag, if there still is one.
void Inserter::move(int row, int tag, int likely) {
  if (position(tag, likely) < 0 || f_.parent(~row) < 0) return;
  f_.take_out(row);
  const int k = position(tag, likely);
  const Ref root = f_.root(k);
  seq_insert(k, ~row, f_.joined_weight(root, ~row) + f_.joint(root, ~row), true);
}

}  // namespace hedgerow
