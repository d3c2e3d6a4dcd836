// Trees: builders of forests, and guides.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/builder.hpp"
#include "hedgerow/guide.hpp"
#include "interrupts.hpp"
#include "measures.hpp"

namespace hedgerow::bindings {

static nb::dict induced(const Guide& guide, In<std::int32_t, 1> rows) {
  const std::vector<int> members = list_of(rows);
  std::vector<bool> seen(guide.rows(), false);
  for (int r : members) {
    if (r < 0 || r >= guide.rows() || seen[r]) throw std::invalid_argument("rows must be distinct rows of the guide");
    seen[r] = true;
  }
  Induced t;
  guide.induce(members, t);
  nb::dict out;
  const std::pair<const char*, const std::vector<int>&> arrays[] = {{"rows", t.rows}, {"begin", t.begin}, {"end", t.end},
                                                                    {"left", t.left}, {"right", t.right}, {"parent", t.parent},
                                                                    {"gap", t.gap},   {"order", t.order}};
  for (const auto& [name, values] : arrays) out[name] = to_array(values);
  out["root"] = t.root;
  return out;
}

nb::dict forest_dict(const ForestArrays& f) {
  nb::dict out;
  out["left"] = to_array(f.left);
  out["right"] = to_array(f.right);
  out["parent"] = to_array(f.parent);
  out["size"] = to_array(f.size);
  out["log_phi_h"] = to_array(f.log_phi_h);
  out["log_phi_t"] = to_array(f.log_phi_t);
  out["log_d"] = to_array(f.log_d);
  return out;
}

static InsertOptions insert_options(const std::string& repair, const std::string& insert, bool balance) {
  InsertOptions o;
  o.balance = balance;
  o.top = insert == "top";
  o.reinsert = repair == "reinsert";
  return o;
}

static TreeBuilder* make_builder(std::shared_ptr<Likelihood> likelihood, const Prior& prior, std::optional<In<std::int32_t, 1>> groups,
                                 std::optional<In<std::int64_t, 1>> indptr, std::optional<In<std::int32_t, 1>> indices,
                                 std::uint64_t seed, std::uint64_t sequence) {
  const int rows = likelihood->rows();
  Adjacency adjacency;
  if (indptr) {
    adjacency.indptr.assign(indptr->data(), indptr->data() + indptr->shape(0));
    if (indices) adjacency.indices.assign(indices->data(), indices->data() + indices->shape(0));
    const auto nnz = static_cast<std::int64_t>(adjacency.indices.size());
    bool good =
        static_cast<int>(adjacency.indptr.size()) == rows + 1 && adjacency.indptr.front() == 0 && adjacency.indptr.back() == nnz;
    for (int i = 0; good && i < rows; ++i) good = adjacency.indptr[i] <= adjacency.indptr[i + 1];
    for (std::int32_t j : adjacency.indices) good = good && j >= 0 && j < rows;
    if (!good) throw std::invalid_argument("not a CSR pattern over the rows");
  }
  return new TreeBuilder(likelihood, prior, groups_of(groups, rows, prior.groups), std::move(adjacency), seed, sequence);
}

static void bind_builder(nb::module_& m) {
  constexpr auto likelihood_of = [](TreeBuilder& b) -> const Likelihood& { return b.likelihood(); };
  nb::class_<TreeBuilder>(m, "TreeBuilder", nb::type_slots(holder_slots<TreeBuilder, likelihood_of>),
                          "Builds forests over the rows of a likelihood; u and the hyper-parameters are its state.")
      .def(nb::new_(&make_builder), nb::arg("likelihood"), nb::arg("prior"), nb::arg("groups") = nb::none(),
           nb::arg("indptr") = nb::none(), nb::arg("indices") = nb::none(), nb::arg("seed") = 0, nb::arg("sequence") = 0)
      .def(
          "bhc",
          [](TreeBuilder& b) {
            Interruptible work;
            b.grow_greedily();
          },
          "Greedy build from scratch.")
      .def(
          "ibhc",
          [](TreeBuilder& b, const std::string& repair, const std::string& insert, bool balance,
             std::optional<In<std::int32_t, 1>> order, bool u, bool hyper) {
            std::vector<int> rows;
            if (order) {
              rows = list_of(*order);
              std::vector<bool> seen(b.likelihood().rows(), false);
              for (int r : rows) {
                if (r < 0 || r >= b.likelihood().rows() || seen[r])
                  throw std::invalid_argument("order must be a permutation of the rows");
                seen[r] = true;
              }
              if (static_cast<int>(rows.size()) != b.likelihood().rows())
                throw std::invalid_argument("order must be a permutation of the rows");
            }
            Interruptible work;
            b.grow_incrementally(std::move(rows), insert_options(repair, insert, balance), u, hyper);
          },
          nb::arg("repair") = "reinsert", nb::arg("insert") = "seq", nb::arg("balance") = true, nb::arg("order") = nb::none(),
          nb::arg("u") = false, nb::arg("hyper") = false,
          "One incremental pass from scratch, drawing u and the hyper-parameters on the way if asked to.")
      .def(
          "revise",
          [](TreeBuilder& b, const std::string& repair, bool thorough) {
            Interruptible work;
            b.revise({}, insert_options(repair, "seq", true), thorough);
          },
          nb::arg("repair") = "reinsert", nb::arg("thorough") = true,
          "Every row out and in again, or only those that belong elsewhere.")
      .def(
          "join_roots",
          [](TreeBuilder& b) {
            Interruptible work;
            b.join_roots();
          },
          "Joins the roots into one tree.")
      .def("resample", &TreeBuilder::resample, nb::arg("u"), nb::arg("hyper"))
      .def("keep", &TreeBuilder::keep, "Keeps the trees and the prior's state as they are.")
      .def("go_back", &TreeBuilder::go_back, "Back to what was kept last.")
      .def("log_joint", &TreeBuilder::log_joint)
      .def("log_front", &TreeBuilder::log_front)
      .def(
          "fillings",
          [](TreeBuilder& b) {
            std::vector<double> out;
            b.likelihood().save_imputed(out);
            return to_array(out);
          },
          "Missing entries of all rows as they are filled in.")
      .def("state", [](TreeBuilder& b) { return measure_dict(b.measure().state()); })
      .def(
          "set_state",
          [](TreeBuilder& b, const nb::dict& measure) {
            b.measure().set(measure_of(measure, b.measure()));
            b.forest().refresh(true);
          },
          nb::arg("measure"))
      .def(
          "arrays",
          [](TreeBuilder& b) {
            std::vector<int> id(b.likelihood().rows());
            std::iota(id.begin(), id.end(), 0);
            return forest_dict(b.forest().arrays(id, static_cast<int>(id.size())));
          },
          "The forest as named arrays.")
      .def("mean_depth", [](TreeBuilder& b) { return b.forest().mean_depth(); })
      .def_prop_ro("n_roots", [](TreeBuilder& b) { return b.forest().roots(); })
      .def_prop_ro("evaluations", [](TreeBuilder& b) { return b.forest().evaluations(); });
}

void bind_trees(nb::module_& m) {
  bind_builder(m);
  bind_streams(m);
  nb::class_<Guide> guide(m, "Guide", "A fixed full binary tree over the rows.");
  guide
      .def(
          "__init__",
          [](Guide* self, In<std::int32_t, 1> left, In<std::int32_t, 1> right) { new (self) Guide(list_of(left), list_of(right)); },
          nb::arg("left"), nb::arg("right"))
      .def_prop_ro("n_rows", &Guide::rows)
      .def("induced", &induced, nb::arg("rows"), "The induced tree of these rows, as named arrays.");
  const auto array = [&guide](const char* name, auto Guide::* list) {
    guide.def_prop_ro(name, [list](const Guide& g) { return to_array(g.*list); }, nb::rv_policy::move);
  };
  array("rank", &Guide::rank);
  array("order", &Guide::order);
}

}  // namespace hedgerow::bindings
