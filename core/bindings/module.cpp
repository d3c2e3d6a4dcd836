// The compiled module: arrays in, arrays out, the GIL released where work is done.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "simd.hpp"

#if defined(__clang__)
#define HEDGEROW_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define HEDGEROW_COMPILER "gcc " __VERSION__
#else
#define HEDGEROW_COMPILER "another compiler"
#endif

NB_MODULE(_core, m) {
  m.doc() = "Hedgerow's compiled core.";
  hedgerow::bindings::bind_likelihoods(m);
  hedgerow::bindings::bind_measures(m);
  hedgerow::bindings::bind_chain(m);
  hedgerow::bindings::bind_predictions(m);
  hedgerow::bindings::bind_trees(m);
  hedgerow::bindings::bind_shard(m);
  hedgerow::bindings::bind_known(m);
  hedgerow::bindings::bind_estimate(m);
  hedgerow::bindings::bind_video(m);
  m.def("instruction_set", [] { return std::string(hedgerow::simd().name); }, "The instruction set the hot loops use here.");
  m.def("compiler", [] { return std::string(HEDGEROW_COMPILER); }, "What this module was compiled with.");
}
