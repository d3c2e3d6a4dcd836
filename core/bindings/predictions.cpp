// Draws that are asked about rows: new ones, and each of the old as if it were new.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/imputation.hpp"
#include "hedgerow/predictive.hpp"
#include "measures.hpp"

namespace hedgerow::bindings {

constexpr int kImputingSweeps = 5;  // after a start that is a draw already but for the order of rows

// One draw as a state: labels of the first rows of the likelihood, u and hyper-parameters. Missing entries that are filled in belong to
// a draw and are not kept with it: they are drawn again given its labels.
struct OneDraw {
  std::shared_ptr<const Likelihood> own;
  std::unique_ptr<State> state;
};

static OneDraw draw_of(const Likelihood& likelihood, int n_old, In<std::int32_t, 1> labels, const Prior& prior, const nb::dict& values,
                       std::optional<In<std::int32_t, 1>> groups, std::uint64_t seed) {
  std::vector<int> start = list_of(labels);
  if (static_cast<int>(start.size()) != n_old || n_old > likelihood.rows())
    throw std::invalid_argument("labels must have n_old entries");
  check_labels(start, n_old);
  std::vector<int> sizes(prior.groups, 0);
  std::vector<int> old_groups = groups_of(groups, n_old, prior.groups);
  if (old_groups.empty()) sizes[0] = n_old;
  for (int t : old_groups) ++sizes[t];
  Measure measure(prior, sizes);
  measure.set(measure_of(values, measure));
  OneDraw draw{likelihood.fork(), nullptr};
  draw.state = std::make_unique<State>(draw.own ? *draw.own : likelihood, prior, std::move(old_groups), Rng(seed));
  draw.state->measure = measure;
  impute_given_labels(*draw.state, start, kImputingSweeps);
  draw.state->partition.assign(start);
  return draw;
}

using New = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = In<std::int32_t, 1>;

// A draw that is asked about new rows.
class PyForesight {
 public:
  PyForesight(const Likelihood& likelihood, int n_old, In<std::int32_t, 1> labels, const Prior& prior, const nb::dict& values,
              std::optional<Indices> groups, std::optional<Indices> new_groups, std::uint64_t seed, int threads) {
    if (new_groups.has_value() != groups.has_value()) throw std::invalid_argument("old and new rows must both have groups, or neither");
    check(threads >= 1, "threads must be 1 or more");
    draw_ = draw_of(likelihood, n_old, labels, prior, values, groups, seed);
    if (new_groups) groups_ = groups_of(new_groups, likelihood.rows() - n_old, prior.groups);
    nb::gil_scoped_release release;
    sight_.emplace(*draw_.state, n_old, likelihood.serial() ? 1 : threads);
  }

  Out<double> weights() {
    double* out;
    auto result =
        make_array<double>({static_cast<std::size_t>(sight_->rows()), static_cast<std::size_t>(sight_->clusters() + 1)}, &out);
    nb::gil_scoped_release release;
    sight_->weights(groups_, out);
    return result;
  }

  void add_density(New log_total) {
    check(static_cast<int>(log_total.shape(0)) == sight_->rows(), "log_total must have one entry per new row");
    double* out = log_total.data();
    nb::gil_scoped_release release;
    sight_->add_density(groups_, out);
  }

  void add_company(Indices start, Indices cluster, In<double, 1> share, New top,
                   nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> with, New alone, New all) {
    const auto rows = static_cast<std::size_t>(sight_->rows());
    check(top.shape(0) == rows && with.shape(0) == rows && alone.shape(0) == rows && all.shape(0) == rows,
          "sums must have one entry per new row");
    const auto k = static_cast<std::size_t>(sight_->clusters());
    check(start.shape(0) == k + 1 && cluster.shape(0) == share.shape(0), "start must have one entry per cluster and one more");
    check(start.data()[0] == 0 && start.data()[k] == static_cast<std::int32_t>(share.shape(0)), "start must cover all entries");
    for (std::size_t c = 0; c < k; ++c) check(start.data()[c] <= start.data()[c + 1], "start must not fall");
    for (std::size_t e = 0; e < cluster.shape(0); ++e)
      check(cluster.data()[e] >= 0 && cluster.data()[e] < static_cast<std::int32_t>(with.shape(1)), "cluster must be columns");
    const Foresight::Overlap overlap{start.data(), cluster.data(), share.data(), static_cast<int>(with.shape(1))};
    const Foresight::Company company{top.data(), with.data(), alone.data(), all.data()};
    nb::gil_scoped_release release;
    sight_->add_company(groups_, overlap, company);
  }

 private:
  OneDraw draw_;
  std::vector<int> groups_;
  std::optional<Foresight> sight_;
};

static Out<double> left_out_density(const Likelihood& likelihood, In<std::int32_t, 1> labels, const Prior& prior,
                                    const nb::dict& values, std::optional<In<std::int32_t, 1>> groups, std::uint64_t seed,
                                    int threads) {
  check(threads >= 1, "threads must be 1 or more");
  const OneDraw draw = draw_of(likelihood, likelihood.rows(), labels, prior, values, groups, seed);
  double* out;
  auto result = make_array<double>({static_cast<std::size_t>(likelihood.rows())}, &out);
  nb::gil_scoped_release release;
  left_out(*draw.state, likelihood.serial() ? 1 : threads, out);
  return result;
}

void bind_predictions(nb::module_& m) {
  nb::class_<PyForesight>(m, "Foresight", "One draw, asked about new rows: the last of a likelihood's, after n_old others.")
      .def(nb::init<const Likelihood&, int, Indices, const Prior&, const nb::dict&, std::optional<Indices>, std::optional<Indices>,
                    std::uint64_t, int>(),
           nb::keep_alive<1, 2>(), nb::arg("likelihood"), nb::arg("n_old"), nb::arg("labels"), nb::arg("prior"), nb::arg("measure"),
           nb::arg("groups") = nb::none(), nb::arg("new_groups") = nb::none(), nb::arg("seed") = 0, nb::arg("threads") = 1)
      .def("weights", &PyForesight::weights, "log[weight x density] for every cluster and a new one, (n_new, K + 1).")
      .def("add_density", &PyForesight::add_density, nb::arg("log_total"), "Adds the densities of the rows to exp(log_total).")
      .def("add_company", &PyForesight::add_company, nb::arg("start"), nb::arg("cluster"), nb::arg("share"), nb::arg("top"),
           nb::arg("with_each"), nb::arg("alone"), nb::arg("all"),
           "Adds weights, on the scale exp(top), with each cluster of a partition, with none, and of all.");
  m.def("left_out", &left_out_density, nb::arg("likelihood"), nb::arg("labels"), nb::arg("prior"), nb::arg("measure"),
        nb::arg("groups") = nb::none(), nb::arg("seed") = 0, nb::arg("threads") = 1,
        "Log density of every row given the others and their partition, (n).");
}

}  // namespace hedgerow::bindings
