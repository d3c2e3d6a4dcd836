// Packed statistics as arrays of Python.
#pragma once

#include "arrays.hpp"
#include "hedgerow/shard.hpp"

namespace hedgerow::bindings {

inline Packed packed_of(In<double, 1> numbers, In<std::int64_t, 1> start, std::size_t sets) {
  check(start.shape(0) == sets + 1 && start(0) == 0 && start(sets) == static_cast<std::int64_t>(numbers.shape(0)),
        "packed statistics must name every set");
  for (std::size_t s = 0; s < sets; ++s) check(start(s) <= start(s + 1), "packed statistics must be in order");
  Packed out;
  out.start = list_of(start);
  out.numbers.assign(numbers.data(), numbers.data() + numbers.shape(0));
  return out;
}

}  // namespace hedgerow::bindings
