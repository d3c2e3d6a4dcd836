// Nearest lists and lazy refills for the greedy build.
#include "hedgerow/bhc.hpp"

#include <algorithm>

#include "hedgerow/patience.hpp"

namespace hedgerow {
namespace {

constexpr int kKept = 8;
constexpr int kBreath = 16;  // rows of distances between two looks

class Greedy {
 public:
  Greedy(Forest& forest, bool full) : f_(forest), limit_(full ? kInf : 0.0) {}

  void run() {
    start();
    for (;;) {
      const int at = static_cast<int>(std::min_element(bound_.begin(), bound_.end()) - bound_.begin());
      if (bound_.empty() || !(bound_[at] < limit_)) return;
      List& list = lists_[at];
      while (list.count > 0 && position_[list.serial[0]] < 0) list.drop_first();
      if (list.count == 0) {
        if (list.beyond < limit_) {
          refill(at);
        } else {
          bound_[at] = kInf;
        }
        continue;
      }
      if (list.log_d[0] > bound_[at]) {  // what made the bound is gone
        bound_[at] = list.log_d[0];
        continue;
      }
      join(at, position_[list.serial[0]]);
    }
  }

 private:
  // The nearest others in order; everything not listed is at least `beyond` away.
  struct List {
    int count = 0;
    double beyond;
    int serial[kKept];
    double log_d[kKept];

    void drop_first() {
      --count;
      std::copy(serial + 1, serial + count + 1, serial);
      std::copy(log_d + 1, log_d + count + 1, log_d);
    }
    void take(int other, double d) {
      int i = count;
      if (count < kKept) {
        ++count;
      } else {
        beyond = std::min(beyond, std::max(d, log_d[kKept - 1]));
        if (d >= log_d[--i]) return;
      }
      for (; i > 0 && log_d[i - 1] > d; --i) {
        log_d[i] = log_d[i - 1];
        serial[i] = serial[i - 1];
      }
      log_d[i] = d;
      serial[i] = other;
    }
  };

  void start() {
    const int k = f_.roots();
    if (f_.adjacency() != nullptr) start_neighbours();
    for (int i = 0; i < k; ++i) open(i);
    for (int i = 1; i < k; ++i) {
      if (f_.adjacency() != nullptr) {
        refill(i);
        continue;
      }
      distances(i, i);
      spread(i, i);
    }
    if (f_.adjacency() != nullptr && k > 0) refill(0);
  }

  // A new root at position `at`.
  void open(int at) {
    const int serial = static_cast<int>(position_.size());
    position_.push_back(at);
    serial_.resize(std::max<std::size_t>(serial_.size(), at + 1));
    lists_.resize(std::max<std::size_t>(lists_.size(), at + 1));
    bound_.resize(std::max<std::size_t>(bound_.size(), at + 1));
    phi_.resize(std::max<std::size_t>(phi_.size(), at + 1));
    serial_[at] = serial;
    lists_[at].count = 0;
    lists_[at].beyond = limit_;
    bound_[at] = kInf;
    phi_[at] = f_.phi_t(f_.root(at));
  }

  // out_[j] = log d(root at, root j) for positions j < k.
  void distances(int at, int k) {
    patience_.pause();
    const Ref x = f_.root(at);
    if (static_cast<int>(out_.size()) < padded(f_.roots() + 1)) out_.resize(padded(f_.roots() + 1));
    f_.joint_front(x, k, out_.data());
    for (int j = 0; j < k; ++j) out_[j] = phi_[at] + phi_[j] - f_.joined_weight(f_.root(j), x) - out_[j];
  }

  void meet(int at, int j, double d) {
    if (d < lists_[at].beyond) {
      lists_[at].take(serial_[j], d);
      bound_[at] = std::min(bound_[at], d);
    }
  }

  // Both sides learn of out_[j], j < k.
  void spread(int at, int k) {
    for (int j = 0; j < k; ++j) {
      if (j == at || !(out_[j] < limit_)) continue;
      meet(at, j, out_[j]);
      meet(j, at, out_[j]);
    }
  }

  void refill(int at) {
    lists_[at].count = 0;
    lists_[at].beyond = limit_;
    bound_[at] = kInf;
    if (f_.adjacency() != nullptr) {
      patience_.pause();
      for (int other : neighbours(serial_[at])) {
        const int j = position_[other];
        const double d = phi_[at] + phi_[j] - f_.joined_weight(f_.root(at), f_.root(j)) - f_.joint(f_.root(j), f_.root(at));
        if (d < limit_) meet(at, j, d);
      }
      return;
    }
    distances(at, f_.roots());
    for (int j = 0; j < f_.roots(); ++j)
      if (j != at && out_[j] < limit_) meet(at, j, out_[j]);
  }

  void join(int a, int b) {
    const int gone_a = serial_[a], gone_b = serial_[b];
    const int last = f_.roots() - 1;
    const Ref other = f_.root(b);
    f_.remove_root(b);
    if (b != last) {
      serial_[b] = serial_[last];
      lists_[b] = lists_[last];
      bound_[b] = bound_[last];
      phi_[b] = phi_[last];
      position_[serial_[b]] = b;
    }
    position_[gone_a] = position_[gone_b] = -1;  // after the move: root a may have been the last
    for (auto* v : {&bound_, &phi_}) v->pop_back();
    serial_.pop_back();
    lists_.pop_back();
    if (a == last) a = b;
    f_.join(f_.root(a), other);
    f_.sync_root(a);
    open(a);
    if (f_.adjacency() != nullptr) return join_neighbours(a, gone_a, gone_b);
    distances(a, f_.roots());
    spread(a, f_.roots());
  }

  // ---- connectivity: live neighbours of every root, by serial number; the dead point to what they became.
  void start_neighbours() {
    const int k = f_.roots();
    std::vector<int> label;
    f_.labels(label);
    near_.resize(k);
    const Adjacency& adjacency = *f_.adjacency();
    for (std::size_t row = 0; row < label.size(); ++row)
      for (std::int64_t i = adjacency.indptr[row]; i < adjacency.indptr[row + 1]; ++i) {
        const int other = label[adjacency.indices[i]];
        if (label[row] >= 0 && other >= 0 && other != label[row]) near_[label[row]].push_back(other);
      }
    became_.resize(k);
    for (int i = 0; i < k; ++i) became_[i] = i;
  }

  int alive(int serial) {
    while (became_[serial] != serial) serial = became_[serial] = became_[became_[serial]];
    return serial;
  }

  const std::vector<int>& neighbours(int serial) {
    std::vector<int>& near = near_[serial];
    for (int& s : near) s = alive(s);
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    std::erase(near, serial);
    return near;
  }

  void join_neighbours(int at, int a, int b) {
    const int serial = serial_[at];
    became_.push_back(serial);
    became_[a] = became_[b] = serial;
    std::vector<int> near = std::move(near_[a]);
    near.insert(near.end(), near_[b].begin(), near_[b].end());
    std::vector<int>().swap(near_[b]);
    near_.push_back(std::move(near));
    refill(at);
    for (int other : neighbours(serial)) {
      const int j = position_[other];
      const double d = phi_[at] + phi_[j] - f_.joined_weight(f_.root(at), f_.root(j)) - f_.joint(f_.root(j), f_.root(at));
      if (d < limit_) meet(j, at, d);
    }
  }

  Forest& f_;
  double limit_;
  Patience patience_{kBreath};
  std::vector<int> position_, serial_;  // of a root by serial number, and back
  std::vector<List> lists_;
  std::vector<double> bound_, phi_;  // by position: no pair of this root is nearer than bound
  AlignedVector<double> out_;
  std::vector<std::vector<int>> near_;
  std::vector<int> became_;
};

}  // namespace

void bhc(Forest& forest, bool full) { Greedy(forest, full).run(); }

}  // namespace hedgerow
