// Rows against clusters of which sizes and statistics are known.
#include <nanobind/stl/shared_ptr.h>

#include "hedgerow/measure.hpp"
#include "hedgerow/predictive.hpp"
#include "packed.hpp"

namespace hedgerow::bindings {
namespace {

// Clusters of one draw as they were packed, with the sizes of all their rows.
struct KnownClusters {
  std::unique_ptr<Statistics> statistics;
  std::vector<int> sizes;
};

KnownClusters known_clusters(const Likelihood& likelihood, In<double, 1> numbers, In<std::int64_t, 1> start,
                             In<std::int64_t, 1> sizes) {
  const std::size_t k = sizes.shape(0);
  check(k > 0, "at least one cluster is needed");
  const Packed clusters = packed_of(numbers, start, k);
  KnownClusters out{likelihood.statistics(Layout::clusters), {}};
  for (std::size_t c = 0; c < k; ++c) {
    check(sizes(c) >= 1 && sizes(c) <= 2147483647, "clusters must have rows");
    out.sizes.push_back(static_cast<int>(sizes(c)));
  }
  out.statistics->reset(static_cast<int>(k) + 1);
  for (std::size_t c = 0; c < k; ++c) out.statistics->unpack(static_cast<int>(c), clusters.set(c));
  return out;
}

// The same where they were packed at another power than that of the likelihood that is asked.
KnownClusters at_power(KnownClusters known, const Likelihood& likelihood) {
  std::unique_ptr<Statistics> own = likelihood.statistics(Layout::clusters);
  own->reset(static_cast<int>(known.sizes.size()) + 1);
  for (int c = 0; c < static_cast<int>(known.sizes.size()); ++c) own->load(c, *known.statistics, c);
  return {std::move(own), std::move(known.sizes)};
}

Out<double> predictive_known(const Likelihood& likelihood, const Measure& measure, In<double, 1> numbers, In<std::int64_t, 1> start,
                             In<std::int64_t, 1> sizes, const Likelihood* packed_by) {
  KnownClusters known = known_clusters(packed_by ? *packed_by : likelihood, numbers, start, sizes);
  if (packed_by) known = at_power(std::move(known), likelihood);
  double* out;
  auto result = make_array<double>({static_cast<std::size_t>(likelihood.rows()), known.sizes.size() + 1}, &out);
  nb::gil_scoped_release release;
  predictive(likelihood, *known.statistics, measure, known.sizes, out);
  return result;
}

Out<double> left_out_known(const Likelihood& likelihood, const Measure& measure, In<double, 1> numbers, In<std::int64_t, 1> start,
                           In<std::int64_t, 1> sizes, In<std::int32_t, 1> labels) {
  KnownClusters known = known_clusters(likelihood, numbers, start, sizes);
  const std::vector<int> where = list_of(labels);
  check(static_cast<int>(where.size()) == likelihood.rows(), "labels must have one entry per row");
  for (int c : where) check(c >= 0 && c < static_cast<int>(known.sizes.size()), "no such cluster");
  double* out;
  auto result = make_array<double>({static_cast<std::size_t>(likelihood.rows())}, &out);
  nb::gil_scoped_release release;
  left_out(likelihood, *known.statistics, measure, known.sizes, where, out);
  return result;
}

}  // namespace

void bind_known(nb::module_& m) {
  m.def("predictive_known", &predictive_known, nb::arg("likelihood"), nb::arg("measure"), nb::arg("numbers"), nb::arg("start"),
        nb::arg("sizes"), nb::arg("packed_by").none() = nb::none(),
        "log[weight x density] of all rows, which are new, for every known cluster and a new one, (n, K + 1). `packed_by` is a "
        "likelihood at the power at which the clusters were packed, where that is another.");
  m.def("left_out_known", &left_out_known, nb::arg("likelihood"), nb::arg("measure"), nb::arg("numbers"), nb::arg("start"),
        nb::arg("sizes"), nb::arg("labels"), "Log density of all rows, which are among the known, each given the others, (n).");
}

}  // namespace hedgerow::bindings
