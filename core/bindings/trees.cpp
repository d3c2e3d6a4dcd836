// Trees: guides.
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/guide.hpp"

namespace hedgerow::bindings {

static std::vector<int> vector_of(In<std::int32_t, 1> a) { return std::vector<int>(a.data(), a.data() + a.shape(0)); }

static nb::dict induced(const Guide& guide, In<std::int32_t, 1> rows) {
  const std::vector<int> members = vector_of(rows);
  std::vector<bool> seen(guide.rows(), false);
  for (int r : members) {
    if (r < 0 || r >= guide.rows() || seen[r]) throw std::invalid_argument("rows must be distinct rows of the guide");
    seen[r] = true;
  }
  Induced t;
  guide.induce(members.data(), static_cast<int>(members.size()), t);
  nb::dict out;
  out["rows"] = to_array(t.rows);
  out["begin"] = to_array(t.begin);
  out["end"] = to_array(t.end);
  out["left"] = to_array(t.left);
  out["right"] = to_array(t.right);
  out["parent"] = to_array(t.parent);
  out["node"] = to_array(t.node);
  out["order"] = to_array(t.order);
  out["root"] = t.root;
  return out;
}

void bind_trees(nb::module_& m) {
  nb::class_<Guide>(m, "Guide", "A fixed full binary tree over the rows.")
      .def("__init__", [](Guide* self, In<std::int32_t, 1> left, In<std::int32_t, 1> right) { new (self) Guide(vector_of(left), vector_of(right)); },
           nb::arg("left"), nb::arg("right"))
      .def_prop_ro("n_rows", &Guide::rows)
      .def_prop_ro("root", &Guide::root)
      .def_prop_ro("left", [](const Guide& g) { return to_array(g.left); }, nb::rv_policy::move)
      .def_prop_ro("right", [](const Guide& g) { return to_array(g.right); }, nb::rv_policy::move)
      .def_prop_ro("parent", [](const Guide& g) { return to_array(g.parent); }, nb::rv_policy::move)
      .def_prop_ro("depth", [](const Guide& g) { return to_array(g.depth); }, nb::rv_policy::move)
      .def_prop_ro("size", [](const Guide& g) { return to_array(g.size); }, nb::rv_policy::move)
      .def_prop_ro("first", [](const Guide& g) { return to_array(g.first); }, nb::rv_policy::move)
      .def_prop_ro("rank", [](const Guide& g) { return to_array(g.rank); }, nb::rv_policy::move)
      .def_prop_ro("order", [](const Guide& g) { return to_array(g.order); }, nb::rv_policy::move)
      .def("induced", &induced, nb::arg("rows"), "The induced tree of these rows, as named arrays.");
}

}  // namespace hedgerow::bindings
