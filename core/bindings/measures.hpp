// A measure's state between Python and the core: a dict by name one way and the other, and traces of many states.
#pragma once

#include <string>

#include "arrays.hpp"
#include "hedgerow/measure.hpp"

namespace hedgerow::bindings {

nb::dict measure_dict(const MeasureState& state);

// What a measure may be set to; throws std::invalid_argument for a name too many or too few and for values out of range.
MeasureState measure_of(const nb::dict& values, const Measure& measure);

// One row per state: (rows) for a number, (rows, groups or basis measures) for a list.
class MeasureTraces {
 public:
  MeasureTraces(std::size_t rows, const MeasureState& like);
  void put(std::size_t row, const MeasureState& state);
  void into(nb::dict& out) const;

 private:
  struct Trace {
    std::string name;
    Out<double> array;
    double* data;
    std::size_t width;
  };
  std::vector<Trace> traces_;
};

}  // namespace hedgerow::bindings
