// Incremental Bayesian hierarchical clustering: points and trees put into a forest one at a time.
//
// To the letter of the papers (balance off): SeqInsert (Lee & Choi 2014, algorithm 2) compares d(l,r), d(l,x), d(r,x) at
// every node, and a refreshed d > 1 cuts the tree there (2014, section 3.2; 2015, section 2.3). Trees built that way are
// near-caterpillars: against a large set, d(l,r) is far below d(l,x), so x stays on top.
//
// Balanced (the default): where no place for x changes log φ_t by more than a hair, the place is chosen so that depth stays
// logarithmic. A subtree that such placing has put among strangers (d > 1) is lifted by rotations that raise φ_t until it
// fits, or until it reaches the root and the root is cut. So evidence against a set still finds its way to the top.
#pragma once

#include "hedgerow/forest.hpp"
#include "hedgerow/tree_halves.hpp"

namespace hedgerow {

// Told about the life of clusters; tags are the forest's.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void fell(const std::vector<Ref>& pieces) = 0;  // a root was cut into these
  virtual int born(Ref x) = 0;                            // a new root; returns its tag
  virtual int parted(int tag, Ref piece) = 0;             // a piece of cluster `tag` becomes a root; returns its tag
  virtual void joined(int tag, int into, Ref piece) = 0;  // cluster `tag`, all of it, now belongs to cluster `into`
  virtual void moved(int from, int to, Ref piece) = 0;    // a piece went from one cluster to another
};

struct InsertOptions {
  bool balance = true;
  bool top = false;      // the papers' rough start: x on top of the nearest root, nothing is ever cut
  bool reinsert = true;  // pieces of a cut go back in at once; otherwise they stay roots
};

class Inserter {
 public:
  Inserter(Forest& forest, InsertOptions options, Witness* witness = nullptr)
      : f_(forest), options_(options), witness_(witness), halves_(forest) {}

  // A detached leaf or tree goes to the root of least d, or becomes a root when that d > 1.
  void insert(Ref x);
  // Fresh tags for the roots that are there.
  void number_roots();
  // A row that is in the forest goes out and in again.
  void reinsert(int row);
  // A row leaves for good; what is left of its cluster is taken apart where it no longer holds together. Returns whether any is left.
  bool remove(int row);
  // Roots that have grown by half since they were last compared with the others go in again as trees.
  void consolidate();
  // Trees that are better as two clusters become two, these again, and so on; where sides begin is drawn if there are random numbers.
  void part(Rng* rng = nullptr);
  // The same for trees that consolidate() would look at, once each; to be called before it.
  void part_due();
  // By tag: the size of a root when it was last compared with the others.
  std::vector<int>& compared() { return compared_; }

 private:
  struct Pending {
    Ref piece;
    int anchor;  // parent of the place where the piece belongs: an inner node, or ~position of a root
    bool left;
  };
  void insert(Ref x, int tag, int from, bool repair);
  void seq_insert(int k, Ref x, double log_phi_joined, bool repair);
  void mend(int k, std::vector<Ref>& pieces, int tag, bool repair);
  int descend(Ref c, Ref x, bool again, double log_phi_joined);
  void reinsert_pending();
  void refresh_up(int c);
  void lift_up(int c);
  void lift(int c);
  bool cut_at_root(int k, std::vector<Ref>& pieces);
  bool cut_at_lowest(int k, int from, std::vector<Ref>& pieces);
  void shatter(Ref a, std::vector<Ref>& pieces);
  bool touch_each_other(Ref a, Ref b);
  bool due(int k) const;
  bool part_root(int k, Rng* rng);
  void move(int row, int tag, int likely);
  int position(int tag, int likely) const;
  void note_compared(int tag, int size);

  Forest& f_;
  InsertOptions options_;
  Witness* witness_;
  TreeHalves halves_;
  std::vector<Pending> pending_;
  std::vector<int> attached_;
  std::vector<int> compared_;
  int next_tag_ = 0;
};

}  // namespace hedgerow
