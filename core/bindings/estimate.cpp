// Summaries of draws: sums over joint clusters, and the search for one partition.
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "hedgerow/estimate.hpp"

namespace hedgerow::bindings {

static void check_shapes(In<std::int32_t, 2> draws, In<std::int64_t, 1> copies) {
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
  In<std::int32_t, 2> draws;
  In<std::int64_t, 1> copies;
  In<double, 1> f;
  JointSums sums;

  HeldJointSums(In<std::int32_t, 2> d, In<std::int64_t, 1> c, In<double, 1> values)
      : draws(d),
        copies(c),
        f(values),
        sums(d.data(), static_cast<int>(d.shape(0)), static_cast<int>(d.shape(1)), c.data(), values.data()) {}

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

void bind_estimate(nb::module_& m) {
  nb::class_<HeldJointSums>(m, "JointSums",
                            "Sums of f over the joint clusters of a partition with draws; `copies` rows stand behind every point.")
      .def(
          "__init__",
          [](HeldJointSums* self, In<std::int32_t, 2> draws, In<std::int64_t, 1> copies, In<double, 1> f) {
            check_shapes(draws, copies);
            check_function(copies, f);
            new (self) HeldJointSums(draws, copies, f);
          },
          nb::arg("draws"), nb::arg("copies"), nb::arg("f"))
      .def("run", &HeldJointSums::run, nb::arg("partition"), nb::arg("first") = 0, "One sum for each draw from `first` on.");
  nb::class_<PartitionSearch>(m, "PartitionSearch", "Greedy search for the partition of least expected loss over draws.")
      .def(
          "__init__",
          [](PartitionSearch* self, In<std::int32_t, 2> draws, In<std::int64_t, 1> copies, In<double, 1> weights, In<double, 1> f,
             bool adjusted, double joining) {
            check_shapes(draws, copies);
            check_function(copies, f);
            if (weights.shape(0) != draws.shape(0)) throw std::invalid_argument("weights must have one entry for each draw");
            nb::gil_scoped_release release;
            new (self) PartitionSearch(draws.data(), static_cast<int>(draws.shape(0)), static_cast<int>(draws.shape(1)), copies.data(),
                                       weights.data(), f.data(), adjusted, joining);
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
      .def("limit", &PartitionSearch::limit, nb::arg("least"), nb::arg("most"), "Keep the number of clusters between the two.")
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
