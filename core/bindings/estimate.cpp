// Summaries of draws: sums over joint clusters, and the search for one partition.
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "hedgerow/estimate.hpp"

namespace hedgerow::bindings {

// Labels of draws in one, two or four bytes each: uint8, uint16 or int32.
using AnyLabels = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static NarrowLabels kept(const AnyLabels& draws) {
  const nb::dlpack::dtype type = draws.dtype();
  const bool known = type == nb::dtype<std::uint8_t>() || type == nb::dtype<std::uint16_t>() || type == nb::dtype<std::int32_t>();
  if (!known) throw std::invalid_argument("draws must be uint8, uint16 or int32");
  if (draws.shape(0) > INT32_MAX || draws.shape(1) > INT32_MAX) throw std::invalid_argument("draws must have fewer than 2^31 rows");
  return {draws.data(), type.bits / 8, static_cast<int>(draws.shape(0)), static_cast<int>(draws.shape(1))};
}

static void check_shapes(AnyLabels draws, In<std::int64_t, 1> copies) {
  if (draws.shape(0) == 0 || draws.shape(1) == 0)
    throw std::invalid_argument("draws must hold at least one draw of at least one point");
  if (copies.shape(0) != draws.shape(1)) throw std::invalid_argument("copies must have one entry for each point");
  for (std::size_t i = 0; i < copies.shape(0); ++i)
    if (copies.data()[i] < 1) throw std::invalid_argument("copies must be 1 or more");
}

static void check_function(In<std::int64_t, 1> copies, In<double, 1> f) {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < copies.shape(0); ++i) rows += copies.data()[i];
  if (static_cast<std::int64_t>(f.shape(0)) <= rows)
    throw std::invalid_argument("f must have an entry for every count up to the number of rows");
}

// The core's sums with the arrays they read, which live as long.
struct HeldJointSums {
  AnyLabels draws;
  In<std::int64_t, 1> copies;
  In<double, 1> f;
  JointSums sums;

  HeldJointSums(AnyLabels d, In<std::int64_t, 1> c, In<double, 1> values)
      : draws(d), copies(c), f(values), sums(kept(d), c.data(), values.data()) {}

  Out<double> run(In<std::int32_t, 1> partition, int first) {
    const int n_draws = static_cast<int>(draws.shape(0));
    if (partition.shape(0) != draws.shape(1)) throw std::invalid_argument("partition must have one label for each point");
    if (first < 0 || first > n_draws) throw std::invalid_argument("first must be one of the draws");
    double* out;
    auto array = make_array<double>({static_cast<std::size_t>(n_draws - first)}, &out);
    nb::gil_scoped_release release;
    sums.run(partition.data(), first, n_draws, out);
    return array;
  }
};

static Out<std::uint64_t> keys_of_points(AnyLabels draws) {
  const NarrowLabels labels = kept(draws);
  std::uint64_t* out;
  auto keys = make_array<std::uint64_t>({draws.shape(1)}, &out);
  nb::gil_scoped_release release;
  point_keys(labels, out);
  return keys;
}

static bool points_stand_together(AnyLabels draws, In<std::int32_t, 1> standing) {
  const NarrowLabels labels = kept(draws);
  if (standing.shape(0) != draws.shape(1)) throw std::invalid_argument("standing must have one entry for each point");
  for (std::size_t i = 0; i < standing.shape(0); ++i)
    if (standing.data()[i] < 0 || standing.data()[i] >= labels.points) throw std::invalid_argument("standing must be points");
  nb::gil_scoped_release release;
  return stand_together(labels, standing.data());
}

static nb::tuple company_of_points(AnyLabels draws, In<std::int64_t, 1> copies, In<std::int32_t, 1> own, int clusters) {
  check_shapes(draws, copies);
  const NarrowLabels labels = kept(draws);
  if (own.shape(0) != draws.shape(1)) throw std::invalid_argument("own must have one label for each point");
  double *home, *all, *alone;
  auto with = make_array<double>({own.shape(0)}, &home), whole = make_array<double>({own.shape(0)}, &all);
  auto single = make_array<double>({own.shape(0)}, &alone);
  {
    nb::gil_scoped_release release;
    company(labels, copies.data(), own.data(), clusters, home, all, alone);
  }
  return nb::make_tuple(with, whole, single);
}

void bind_estimate(nb::module_& m) {
  m.def(
      "are_canonical",
      [](AnyLabels draws) {
        const NarrowLabels labels = kept(draws);
        nb::gil_scoped_release release;
        return are_canonical(labels);
      },
      nb::arg("draws"), "Whether every draw is numbered in order of first appearance.");
  m.def("point_keys", &keys_of_points, nb::arg("draws"), "A hash of every point's labels over all draws.");
  m.def("stand_together", &points_stand_together, nb::arg("draws"), nb::arg("standing"),
        "Whether no draw takes a point from the one that stands for it.");
  m.def(
      "together",
      [](AnyLabels draws, int threads) {
        const NarrowLabels labels = kept(draws);
        if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
        float* out;
        auto counts = make_array<float>({draws.shape(1), draws.shape(1)}, &out);
        nb::gil_scoped_release release;
        together(labels, threads, out);
        return counts;
      },
      nb::arg("draws"), nb::arg("threads") = 1, "How many draws have each two points together, (points, points).");
  m.def("company", &company_of_points, nb::arg("draws"), nb::arg("copies"), nb::arg("own"), nb::arg("clusters"),
        "Sums over draws for every point: others of its own cluster with it, mean shares of all clusters with it, draws alone.");
  nb::class_<HeldJointSums>(m, "JointSums",
                            "Sums of f over the joint clusters of a partition with draws; `copies` rows stand behind every point.")
      .def(
          "__init__",
          [](HeldJointSums* self, AnyLabels draws, In<std::int64_t, 1> copies, In<double, 1> f) {
            check_shapes(draws, copies);
            check_function(copies, f);
            new (self) HeldJointSums(draws, copies, f);
          },
          nb::arg("draws"), nb::arg("copies"), nb::arg("f"))
      .def("run", &HeldJointSums::run, nb::arg("partition"), nb::arg("first") = 0, "One sum for each draw from `first` on.");
  nb::class_<PartitionSearch>(m, "PartitionSearch", "Greedy search for the partition of least expected loss over draws.")
      .def(
          "__init__",
          [](PartitionSearch* self, AnyLabels draws, In<std::int64_t, 1> copies, In<double, 1> weights, In<double, 1> f, bool adjusted,
             double joining) {
            check_shapes(draws, copies);
            check_function(copies, f);
            if (weights.shape(0) != draws.shape(0)) throw std::invalid_argument("weights must have one entry for each draw");
            const NarrowLabels labels = kept(draws);
            nb::gil_scoped_release release;
            new (self) PartitionSearch(labels, copies.data(), weights.data(), f.data(), adjusted, joining);
          },
          nb::arg("draws"), nb::arg("copies"), nb::arg("weights"), nb::arg("f"), nb::arg("adjusted") = false, nb::arg("joining") = 1.0)
      .def(
          "copy",
          [](const PartitionSearch& s) {
            nb::gil_scoped_release release;
            return PartitionSearch(s);
          },
          "Another search of the same draws, for another thread; what the two only read they share.")
      .def(
          "start_at",
          [](PartitionSearch& s, In<std::int32_t, 1> labels) {
            if (static_cast<int>(labels.shape(0)) != s.points())
              throw std::invalid_argument("labels must have one entry for each point");
            nb::gil_scoped_release release;
            s.load(labels.data());
          },
          nb::arg("labels"), "Start from a partition.")
      .def(
          "start_afresh",
          [](PartitionSearch& s, std::uint64_t seed, std::uint64_t sequence) {
            nb::gil_scoped_release release;
            Rng rng(seed, sequence);
            s.allocate(rng);
          },
          nb::arg("seed"), nb::arg("sequence"), "Start from a sequential allocation in random order.")
      .def(
          "descend",
          [](PartitionSearch& s, std::uint64_t seed, std::uint64_t sequence, int max_sweeps, int zealous) {
            nb::gil_scoped_release release;
            Rng rng(seed, sequence);
            s.descend(rng, max_sweeps, zealous);
          },
          nb::arg("seed"), nb::arg("sequence"), nb::arg("max_sweeps") = 100, nb::arg("zealous") = 10,
          "Sweep until no move helps, then rebuild whole clusters while that helps.")
      .def("stop", &PartitionSearch::stop, "End the descents of this search and of its copies soon, each where it is.")
      .def("limit", &PartitionSearch::limit, nb::arg("least"), nb::arg("most"), "Keep the number of clusters between the two.")
      .def(
          "hold", [](PartitionSearch& s, In<std::int32_t, 1> points) { s.hold(points.data(), static_cast<int>(points.shape(0))); },
          nb::arg("points"), "Leave these points where they are in all sweeps from here on.")
      .def(
          "join_down",
          [](PartitionSearch& s, int most) {
            nb::gil_scoped_release release;
            s.join_down(most);
          },
          nb::arg("most"), "Join the two clusters that cost least until there are so many.")
      .def_prop_ro("clusters", &PartitionSearch::clusters, "Clusters of where the search stands.")
      .def_prop_ro(
          "labels", [](const PartitionSearch& s) { return to_array(s.labels()); }, nb::rv_policy::move, "Where the search stands.");
}

}  // namespace hedgerow::bindings
