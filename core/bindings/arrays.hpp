// Array types of the bindings: what Python hands in, what the core hands out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "hedgerow/likelihood.hpp"

namespace hedgerow {
struct ForestArrays;
}  // namespace hedgerow

namespace hedgerow::bindings {

namespace nb = nanobind;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

inline void check(bool good, const char* what) {
  if (!good) throw std::invalid_argument(what);
}

template <class T>
std::vector<T> list_of(In<T, 1> a) {
  return std::vector<T>(a.data(), a.data() + a.shape(0));
}

// Labels that use every number from 0 to the largest.
inline void check_labels(const std::vector<int>& labels, int rows) {
  if (static_cast<int>(labels.size()) != rows) throw std::invalid_argument("labels must have one entry per row");
  int k = 0;
  for (int x : labels) {
    if (x < 0 || x >= rows) throw std::invalid_argument("labels must lie in 0..n-1");
    k = std::max(k, x + 1);
  }
  std::vector<char> used(k, 0);
  for (int x : labels) used[x] = 1;
  for (char u : used)
    if (!u) throw std::invalid_argument("labels must use every number from 0 to their maximum");
}

// The group of every row, checked; empty where there is one.
inline std::vector<int> groups_of(const std::optional<In<std::int32_t, 1>>& groups, int rows, int count) {
  check(groups || count == 1, "groups are needed: the prior has more than one");
  if (!groups) return {};
  std::vector<int> out = list_of(*groups);
  check(static_cast<int>(out.size()) == rows, "groups must have one entry per row");
  for (int t : out) check(t >= 0 && t < count, "groups must be numbered 0 .. groups - 1");
  return out;
}

// A fresh NumPy array that owns its memory.
template <class T>
Out<T> make_array(std::initializer_list<std::size_t> shape, T** data) {
  std::size_t size = 1;
  for (std::size_t s : shape) size *= s;
  T* memory = new T[size == 0 ? 1 : size]();
  nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  *data = memory;
  return Out<T>(memory, shape.size(), shape.begin(), owner);
}

template <class T>
Out<T> to_array(const std::vector<T>& values) {
  T* data;
  auto out = make_array<T>({values.size()}, &data);
  std::copy(values.begin(), values.end(), data);
  return out;
}

// Python's collector of cycles sees what C++ holds: an object that holds a likelihood tells of it in its traverse slot. A
// user's Python function is let go of by its likelihood alone, which breaks every cycle there can be.
inline int visit_likelihood(const Likelihood& likelihood, visitproc visit, void* arg) {
  nb::handle known = nb::find(&likelihood);
  Py_VISIT(known.ptr());
  return 0;
}

// The slots of a class that holds one likelihood, which `get` finds.
template <class T, auto get>
inline PyType_Slot holder_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) -> int {
                                        Py_VISIT(Py_TYPE(self));
                                        return nb::inst_ready(self) ? visit_likelihood(get(*nb::inst_ptr<T>(self)), visit, arg) : 0;
                                      })},
                                     {0, nullptr}};

nb::dict forest_dict(const ForestArrays& f);
void bind_likelihoods(nb::module_& m);
void bind_measures(nb::module_& m);
void bind_chain(nb::module_& m);
void bind_predictions(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_streams(nb::module_& m);
void bind_shard(nb::module_& m);
void bind_known(nb::module_& m);
void bind_estimate(nb::module_& m);
void bind_video(nb::module_& m);

}  // namespace hedgerow::bindings
