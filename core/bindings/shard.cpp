// Shards of a distributed data set, and statistics by number for their coordinator.
#include <nanobind/stl/shared_ptr.h>

#include <cmath>
#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/shard.hpp"
#include "packed.hpp"

namespace hedgerow::bindings {
namespace {

void put(nb::dict& out, const Packed& sets) {
  out["count"] = to_array(sets.count);
  out["start"] = to_array(sets.start);
  out["numbers"] = to_array(sets.numbers);
}

// Statistics of numbered sets, for whoever puts the answers of shards together.
class Ledger {
 public:
  explicit Ledger(std::shared_ptr<Likelihood> likelihood)
      : likelihood_(std::move(likelihood)), statistics_(likelihood_->statistics(Layout::nodes)) {}

  void reset(int k) {
    check(k >= 0, "a ledger cannot have fewer than no slots");
    size_ = k;
    statistics_->reset(k + 1);
  }
  int size() const { return size_; }
  Statistics& statistics() { return *statistics_; }
  const Likelihood& likelihood() const { return *likelihood_; }
  int slot(int s) const {
    check(s >= 0 && s < size_, "no such slot");
    return s;
  }

  // Adds set j to slot target[j]; empty sets and targets below 0 are left out.
  void fold(In<double, 1> numbers, In<std::int64_t, 1> start, In<std::int32_t, 1> target) {
    const std::size_t sets = target.shape(0);
    check(start.shape(0) == sets + 1, "every set needs a target");
    for (std::size_t j = 0; j < sets; ++j) {
      const std::int64_t from = start(j), size = start(j + 1) - from;
      check(from >= 0 && size >= 0 && from + size <= static_cast<std::int64_t>(numbers.shape(0)), "packed statistics must be in order");
      if (size == 0 || target(j) < 0) continue;
      statistics_->unpack(size_, {numbers.data() + from, static_cast<std::size_t>(size)});
      statistics_->merge(slot(target(j)), size_);
    }
    statistics_->clear(size_);
  }

  // As many slots as there are sets, each what was packed.
  void restore(In<double, 1> numbers, In<std::int64_t, 1> start) {
    check(start.shape(0) >= 1 && start.shape(0) <= 2147483647, "packed statistics must name every set");
    const int k = static_cast<int>(start.shape(0)) - 1;
    const Packed sets = packed_of(numbers, start, static_cast<std::size_t>(k));
    reset(k);
    for (int s = 0; s < k; ++s) statistics_->unpack(s, sets.set(s));
  }

  void add_rows(int to, In<std::int32_t, 1> rows) {
    slot(to);
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
      check(rows(i) >= 0 && rows(i) < likelihood_->rows(), "no such row");
      statistics_->add(to, rows(i));
    }
  }

  // Every row into the slot of its label; entries that are missing are filled in given the rows before, those without gaps first.
  void fill(In<std::int32_t, 1> labels, std::uint64_t seed) {
    const std::vector<std::int32_t> where = list_of(labels);
    check(static_cast<int>(where.size()) == likelihood_->rows(), "labels must have one entry per row");
    for (std::int32_t c : where) slot(c);
    std::vector<char> gaps(where.size(), 0);
    const std::vector<int> open = likelihood_->imputed_rows();
    for (int row : open) gaps[row] = 1;
    for (std::size_t i = 0; i < where.size(); ++i)
      if (!gaps[i]) statistics_->add(where[i], static_cast<int>(i));
    Rng rng(seed);
    for (int row : open) {
      statistics_->impute(row, where[row], rng);
      statistics_->add(where[row], row);
    }
  }

  // Rows take the side of slot a or of slot b, again and again, each time given the sides of the time before; the anchors stay.
  // Returns the log odds of a row being in b, by the sizes of the sides.
  double halve(int a, int b, In<std::int32_t, 1> rows, int anchor_a, int anchor_b, int scans, std::uint64_t seed) {
    check(slot(a) != slot(b), "the sides must differ");
    for (std::size_t i = 0; i < rows.shape(0); ++i) check(rows(i) >= 0 && rows(i) < likelihood_->rows(), "no such row");
    check(anchor_a >= 0 && anchor_a < likelihood_->rows() && anchor_b >= 0 && anchor_b < likelihood_->rows(), "no such row");
    nb::gil_scoped_release release;
    Rng rng(seed);
    std::vector<char> side(rows.shape(0));
    double log_share = 0.0;
    for (int scan = 0; scan < scans; ++scan) {
      int count[2] = {1, 1};
      for (std::size_t i = 0; i < side.size(); ++i) {
        const double log_odds = log_share + statistics_->log_predictive(rows(i), b) - statistics_->log_predictive(rows(i), a);
        side[i] = rng.uniform() * (1.0 + std::exp(-log_odds)) < 1.0;
        if (rows(i) == anchor_a) side[i] = 0;
        if (rows(i) == anchor_b) side[i] = 1;
      }
      statistics_->clear(a);
      statistics_->clear(b);
      for (std::size_t i = 0; i < side.size(); ++i) {
        statistics_->add(side[i] ? b : a, rows(i));
        ++count[static_cast<int>(side[i])];
      }
      log_share = std::log(count[1]) - std::log(count[0]);
    }
    return log_share;
  }

  nb::dict pack() {
    Packed out;
    out.start.assign(1, 0);
    for (int s = 0; s < size_; ++s) {
      statistics_->pack(s, out.numbers);
      out.start.push_back(static_cast<std::int64_t>(out.numbers.size()));
    }
    nb::dict result;
    result["start"] = to_array(out.start);
    result["numbers"] = to_array(out.numbers);
    return result;
  }

  Out<double> log_marginals() {
    double* out;
    auto result = make_array<double>({static_cast<std::size_t>(size_)}, &out);
    for (int s = 0; s < size_; ++s) out[s] = statistics_->log_marginal(s);
    return result;
  }

  Out<double> log_merged(int s, In<std::int32_t, 1> others) {
    slot(s);
    for (std::size_t i = 0; i < others.shape(0); ++i) slot(others(i));
    double* out;
    auto result = make_array<double>({others.shape(0)}, &out);
    if (others.shape(0) > 0) statistics_->log_marginal_merged(s, {others.data(), others.shape(0)}, out);
    return result;
  }

  // An atom for every slot, each from its own sequence of the seed.
  Out<double> draw_atoms(std::uint64_t seed) {
    const auto width = static_cast<std::size_t>(statistics_->atom_size());
    double* out;
    auto result = make_array<double>({static_cast<std::size_t>(size_), width}, &out);
    for (int s = 0; s < size_; ++s) {
      Rng rng(seed, static_cast<std::uint64_t>(s));
      statistics_->draw_atom(s, rng, out + static_cast<std::size_t>(s) * width);
    }
    return result;
  }

 private:
  std::shared_ptr<Likelihood> likelihood_;
  std::unique_ptr<Statistics> statistics_;
  int size_ = 0;  // the slot after the last is for work
};

Proposals proposals_of(In<std::int32_t, 1> role, In<std::int32_t, 1> side, In<std::int32_t, 1> act, In<std::int32_t, 1> even,
                       In<std::int64_t, 1> anchor, In<double, 1> log_share, In<double, 1> numbers, In<std::int64_t, 1> start) {
  const std::size_t count = act.shape(0);
  check(side.shape(0) == role.shape(0), "every cluster needs a side");
  check(even.shape(0) == count && anchor.shape(0) == 2 * count && log_share.shape(0) == 2 * count,
        "every proposal needs all its parts");
  for (std::size_t c = 0; c < role.shape(0); ++c) check(role(c) >= -1 && role(c) < static_cast<int>(count), "no such proposal");
  Proposals out;
  out.role = list_of(role);
  out.side = list_of(side);
  out.act = list_of(act);
  out.even = list_of(even);
  out.anchor = list_of(anchor);
  out.log_share = list_of(log_share);
  out.launch = packed_of(numbers, start, 2 * count);
  return out;
}

}  // namespace

void bind_shard(nb::module_& m) {
  nb::class_<Ledger>(m, "Ledger", "Sufficient statistics of numbered sets of rows.")
      .def(nb::init<std::shared_ptr<Likelihood>>(), nb::arg("likelihood"))
      .def("reset", &Ledger::reset, nb::arg("size"), "All slots empty.")
      .def("fold", &Ledger::fold, nb::arg("numbers"), nb::arg("start"), nb::arg("target"), "Adds packed sets to slots.")
      .def("restore", &Ledger::restore, nb::arg("numbers"), nb::arg("start"), "Slots as they were when packed.")
      .def("add_rows", &Ledger::add_rows, nb::arg("slot"), nb::arg("rows"))
      .def("fill", &Ledger::fill, nb::arg("labels"), nb::arg("seed"), "All rows into slots, missing entries filled in.")
      .def("halve", &Ledger::halve, nb::arg("first"), nb::arg("second"), nb::arg("rows"), nb::arg("first_anchor"),
           nb::arg("second_anchor"), nb::arg("scans"), nb::arg("seed"), "Rows take one of two sides, scan after scan.")
      .def(
          "merge", [](Ledger& l, int slot, int other) { l.statistics().merge(l.slot(slot), l.slot(other)); }, nb::arg("slot"),
          nb::arg("other"))
      .def(
          "load",
          [](Ledger& l, int slot, Ledger& other, int from) { l.statistics().load(l.slot(slot), other.statistics(), other.slot(from)); },
          nb::arg("slot"), nb::arg("other"), nb::arg("from_slot"), "Copies a slot of another ledger of the same likelihood.")
      .def("pack", &Ledger::pack)
      .def("log_marginals", &Ledger::log_marginals)
      .def("log_merged", &Ledger::log_merged, nb::arg("slot"), nb::arg("others"), "log p of the slot together with each of the others.")
      .def("draw_atoms", &Ledger::draw_atoms, nb::arg("seed"))
      .def_prop_ro("size", &Ledger::size);

  nb::class_<Shard>(m, "Shard", "Some of the rows of a larger data set, with their labels.")
      .def(
          "__init__",
          [](Shard* self, std::shared_ptr<Likelihood> likelihood, std::int64_t first_row, std::uint64_t seed) {
            new (self) Shard(std::move(likelihood), first_row, seed);
          },
          nb::arg("likelihood"), nb::arg("first_row"), nb::arg("seed"))
      .def_prop_ro("n_rows", &Shard::rows)
      .def("labels", [](const Shard& s) { return to_array(s.labels()); })
      .def(
          "fillings", [](const Shard& s) { return to_array(s.fillings()); }, "Missing entries of all rows as they are filled in.")
      .def(
          "fillings_of", [](const Shard& s, In<std::int32_t, 1> rows) { return to_array(s.fillings_of(list_of(rows))); },
          nb::arg("rows"))
      .def(
          "set_fillings", [](Shard& s, In<double, 1> fillings) { s.set_fillings(list_of(fillings)); }, nb::arg("fillings"))
      .def(
          "set_labels", [](Shard& s, In<std::int32_t, 1> labels) { s.set_labels(list_of(labels)); }, nb::arg("labels"))
      .def(
          "tally",
          [](Shard& s, int k) {
            Packed sets;
            {
              nb::gil_scoped_release release;
              sets = s.tally(k);
            }
            nb::dict out;
            put(out, sets);
            return out;
          },
          nb::arg("clusters"), "Counts and packed statistics of clusters 0..k-1.")
      .def(
          "begin",
          [](Shard& s, In<double, 1> numbers, In<std::int64_t, 1> start, In<double, 1> log_size) {
            const Packed clusters = packed_of(numbers, start, log_size.shape(0));
            check(log_size.shape(0) > 0, "at least one cluster is needed");
            const std::vector<double> sizes = list_of(log_size);
            Packed sets;
            {
              nb::gil_scoped_release release;
              sets = s.begin(clusters, sizes);
            }
            nb::dict out;
            put(out, sets);
            return out;
          },
          nb::arg("numbers"), nb::arg("start"), nb::arg("log_size"), "Draws labels from the predictive of known clusters.")
      .def(
          "fit",
          [](const Shard& s, In<double, 1> numbers, In<std::int64_t, 1> start, In<double, 1> log_size) {
            const Packed clusters = packed_of(numbers, start, log_size.shape(0));
            check(log_size.shape(0) > 0, "at least one cluster is needed");
            const std::vector<double> sizes = list_of(log_size);
            std::vector<double> out;
            {
              nb::gil_scoped_release release;
              out = s.fit(clusters, sizes);
            }
            return to_array(out);
          },
          nb::arg("numbers"), nb::arg("start"), nb::arg("log_size"),
          "How much better each row fits these clusters than it would a new one.")
      .def(
          "anchors",
          [](const Shard& s, int k, std::int64_t all_rows, std::uint64_t iteration) {
            check(k >= 1 && all_rows >= 1, "at least one cluster and row are needed");
            return to_array(s.anchors(k, all_rows, iteration));
          },
          nb::arg("clusters"), nb::arg("all_rows"), nb::arg("iteration"), "The word of each cluster's anchor among these rows.")
      .def(
          "sweep",
          [](Shard& s, In<std::uint64_t, 1> anchor, In<std::int64_t, 1> sizes, In<double, 1> log_weight, In<double, 2> atoms,
             double log_alone, std::uint64_t iteration) {
            const std::size_t k = anchor.shape(0);
            check(k >= 1 && sizes.shape(0) == k && log_weight.shape(0) == k && atoms.shape(0) == k,
                  "every cluster needs an anchor, a size, a weight and an atom");
            const Weights weights{list_of(anchor), list_of(sizes), log_weight.data(), atoms.data(), log_alone};
            Swept swept;
            {
              nb::gil_scoped_release release;
              swept = s.sweep(weights, iteration);
            }
            nb::dict out;
            put(out, swept.sets);
            out["founders"] = to_array(swept.founders);
            out["moved"] = swept.moved;
            return out;
          },
          nb::arg("anchor"), nb::arg("sizes"), nb::arg("log_weight"), nb::arg("atoms"), nb::arg("log_alone"), nb::arg("iteration"),
          "One conditional update of all labels.")
      .def(
          "halve",
          [](Shard& s, In<std::int32_t, 1> role, In<std::int32_t, 1> side, In<std::int32_t, 1> act, In<std::int32_t, 1> even,
             In<std::int64_t, 1> anchor, In<double, 1> log_share, In<double, 1> numbers, In<std::int64_t, 1> start,
             std::uint64_t iteration, std::uint64_t pass) {
            const Proposals proposals = proposals_of(role, side, act, even, anchor, log_share, numbers, start);
            Halved halved;
            {
              nb::gil_scoped_release release;
              halved = s.halve(proposals, iteration, pass);
            }
            nb::dict out;
            put(out, halved.sets);
            out["log_q"] = to_array(halved.log_q);
            return out;
          },
          nb::arg("role"), nb::arg("side"), nb::arg("act"), nb::arg("even"), nb::arg("anchor"), nb::arg("log_share"),
          nb::arg("numbers"), nb::arg("start"), nb::arg("iteration"), nb::arg("scan"),
          "One scan of split and merge proposals: sides drawn or scored.")
      .def(
          "rename", [](Shard& s, In<std::int32_t, 1> first, In<std::int32_t, 1> second) { s.rename(list_of(first), list_of(second)); },
          nb::arg("first"), nb::arg("second"))
      .def(
          "put", [](Shard& s, In<std::int32_t, 1> rows, In<std::int32_t, 1> labels) { s.put(list_of(rows), list_of(labels)); },
          nb::arg("rows"), nb::arg("labels"));

  m.def(
      "visit",
      [](const Likelihood& likelihood, const Measure& measure, In<double, 1> numbers, In<std::int64_t, 1> start,
         In<std::int64_t, 1> sizes, In<std::int32_t, 1> labels, std::uint64_t seed) {
        const std::size_t k = sizes.shape(0);
        const Packed clusters = packed_of(numbers, start, k);
        check(static_cast<int>(labels.shape(0)) == likelihood.rows(), "labels must have one entry per row");
        for (std::size_t i = 0; i < labels.shape(0); ++i) check(labels(i) >= 0 && labels(i) < static_cast<int>(k), "no such cluster");
        std::vector<std::int64_t> now = list_of(sizes);
        std::vector<std::int32_t> where = list_of(labels);
        Packed out;
        out.start.assign(1, 0);
        std::int64_t moved;
        {
          nb::gil_scoped_release release;
          auto statistics = likelihood.statistics(Layout::clusters);
          statistics->reset(static_cast<int>(k) + 3);
          for (std::size_t c = 0; c < k; ++c) statistics->unpack(static_cast<int>(c), clusters.set(c));
          Rng rng(seed);
          moved = visit(likelihood, *statistics, measure, now, where, rng);
          for (std::size_t c = 0; c < now.size(); ++c) {
            if (now[c] > 0) statistics->pack(static_cast<int>(c), out.numbers);
            out.start.push_back(static_cast<std::int64_t>(out.numbers.size()));
          }
        }
        out.count = now;
        nb::dict result;
        put(result, out);
        result["labels"] = to_array(where);
        result["moved"] = moved;
        return result;
      },
      nb::arg("likelihood"), nb::arg("measure"), nb::arg("numbers"), nb::arg("start"), nb::arg("sizes"), nb::arg("labels"),
      nb::arg("seed"), "Marginal Gibbs sampling of some rows, given the statistics of all clusters.");
}

}  // namespace hedgerow::bindings
