// An endless stream of rows into one forest: clusters with stable ids and a record of their lives, old rows revised as new
// ones come, and subtrees folded into summary leaves when memory is bounded.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "hedgerow/ibhc.hpp"

namespace hedgerow {

struct StreamOptions {
  int max_nodes = 0;       // inner nodes and summary leaves held at most, 0: no bound
  bool revise = true;      // old rows are looked at again, some for every new one
  bool remember = true;    // keep track of every point ever seen, 4 bytes each, so that its cluster can be asked for
  double half_life = 0.0;  // of rows, in rows or in the units of the clock; 0: none is forgotten
  bool clock = false;      // ages are told by a clock and not by the rows that came since
  int repeats = 1;         // a batch is put in so many times, each from the trees before it; the one of highest log joint stays
};

// What happened to a cluster, and when (points seen by then).
struct Event {
  enum Kind { born, split, joined, died };
  std::int64_t at;
  int kind, cluster, other, size;
};

// Everything a stream is, as plain arrays; the rows themselves are kept by the caller.
struct StreamState {
  std::vector<std::int32_t> left, right, size, free_nodes, roots, tags, groups, group_sizes, compared, row_point, free_rows, doubtful,
      home, folds, fold_node, event_kind, event_cluster, event_other, event_size;
  std::vector<std::int64_t> event_at, packed_start;
  std::vector<double> log_like, slack, log_q, packed, imputed, due;
  double now = 0.0;
  MeasureState measure;
  std::array<std::uint64_t, 4> rng{};
  std::int64_t seen = 0, swept_at = 0;
  std::int32_t next_id = 0, cursor = 0;
};

class Stream final : private Witness {
 public:
  // Starts with the rows of `likelihood`, which the stream takes over.
  // `when` has the clock's time of every row if there is a clock.
  Stream(std::shared_ptr<Likelihood> likelihood, const Prior& prior, const std::vector<int>& groups, const std::vector<double>& when,
         StreamOptions options, std::uint64_t seed);
  // Goes on from a state; `likelihood` holds the rows it speaks of. Throws std::invalid_argument when the two do not fit.
  Stream(std::shared_ptr<Likelihood> likelihood, const Prior& prior, StreamOptions options, const StreamState& state);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // A batch of rows. Throws before anything is changed.
  void add(const Likelihood& batch, const std::vector<int>& groups, const std::vector<double>& when = {});
  // More groups than before, the old ones unchanged.
  void extend_groups(const Prior& prior);

  // The rows that the last batch was put in; some may have been folded since.
  const std::vector<int>& batch_rows() const { return batch_rows_; }
  // log[weight × density] of a batch for every cluster, in the order of ids(), and for a new one: n × (K + 1).
  void predictive(const Likelihood& batch, const std::vector<int>& groups, double* out);

  std::int64_t seen() const { return seen_; }
  // Cluster ids of points; without remembering, of the last batch only.
  void labels(std::int64_t first, std::int64_t count, std::int32_t* out) const;
  const std::vector<Event>& events() const { return events_; }
  // Of events of the last batch: the points that moved, as far as they are held one by one.
  struct Moved {
    std::size_t event;
    std::vector<std::int64_t> points;
  };
  const std::vector<Moved>& moved_last() const { return moved_; }
  // The forest with leaves in order of their points; point of every leaf, -1 for a summary leaf.
  ForestArrays arrays(std::vector<std::int64_t>& points);
  StreamState state();

  Forest& forest() { return forest_; }
  Measure& measure() { return measure_; }
  const StreamOptions& options() const { return options_; }
  const Likelihood& likelihood() const { return *likelihood_; }

 private:
  static constexpr int kGone = INT_MIN;
  void fell(const std::vector<Ref>& pieces) override;
  int born(Ref x) override;
  int parted(int tag, Ref piece) override;
  void joined(int tag, int into, Ref piece) override;
  void moved(int from, int to, Ref piece) override;

  // What putting rows in changes: the trees, the record of clusters from some event on, and the prior's state.
  struct Moment {
    PagedVector<Forest::Inner> inner;
    std::vector<int> free_nodes, roots, tags, compared, doubtful;
    std::vector<double> log_q, packed;
    MeasureState measure;
    std::vector<std::size_t> packed_start;
    std::vector<Event> events;
    std::vector<Moved> moved;
    std::size_t first_event = 0;
    std::int64_t seen = 0, swept_at = 0;
    int next_id = 0, cursor = 0;
  };
  Moment moment(std::size_t first_event);
  void go_back(const Moment& then, bool with_measure);

  void insert(const std::vector<int>& groups, const std::vector<double>& when);
  int slice_end(int begin, const std::vector<double>& when) const;
  void note_moved(Ref piece);
  // Forgetting.
  void live(const std::vector<double>& when);
  void forget_due(bool to_the_last);
  void forget(int row);
  void insert_slice(std::vector<int>& order, int begin, int end);
  void insert_best(std::vector<int>& order, int begin, int end);
  void gather(const std::vector<int>& order, int begin, int end);
  void count_in(const std::vector<int>& order, int begin, int end, const std::vector<int>& groups);
  std::vector<double> log_q_of(const std::vector<int>& order, int begin, int end) const;
  void revise_after();
  bool put_right(int row);
  void reinsert(int row);
  void resample(int draws);
  bool renew_some_u(const std::vector<int>& sizes, const std::vector<double>& log_q);
  void fold_if_needed();
  void fold_node(int c);
  int find(int fold) const;

  std::shared_ptr<Likelihood> likelihood_;
  StreamOptions options_;
  Measure measure_;
  Forest forest_;
  Inserter inserter_;
  Rng rng_;
  std::vector<int> group_sizes_;
  std::int64_t seen_ = 0;
  int next_id_ = 0;
  bool revising_ = false;
  int cursor_ = 0;             // next row to be revised
  std::int64_t swept_at_ = 0;  // points seen when the sweep began
  std::vector<int> doubtful_;  // rows of clusters that fell apart, to be revised first
  std::vector<Event> events_;
  std::vector<Moved> moved_;
  std::vector<double> due_;                     // when each row is forgotten
  std::vector<std::pair<double, int>> coming_;  // the same, of rows in the trees, the next one on top of a heap
  double now_ = 0.0;
  std::vector<int> batch_rows_, free_rows_;
  std::vector<char> open_;  // rows of the batch with entries still to be filled in, which happens once, given the trees at that time
  std::vector<std::int32_t> row_point_;  // point in each row, -1 when the row is free
  std::int64_t home_base_ = 0;           // first point that is remembered
  std::vector<std::int32_t> home_;       // row of each point from there on, ~fold once it was folded, kGone + tag once it was forgotten
  mutable std::vector<std::int32_t> folds_;  // union-find over folds
  std::vector<std::int32_t> fold_node_;      // summary leaf of a fold that stands for itself
  std::vector<std::int32_t> node_fold_;      // and back, by inner node
};

}  // namespace hedgerow
