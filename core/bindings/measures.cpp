// A measure's state between Python and the core.
#include "measures.hpp"

#include <stdexcept>
#include <string>

namespace hedgerow::bindings {
namespace {

// States come from files too: what is no number is refused, not a bad cast.
void read(double& to, const nb::handle& from) {
  if (!nb::try_cast<double>(from, to)) throw std::invalid_argument("the state of a measure has something that is no number");
}

void read(std::vector<double>& to, const nb::handle& from) {
  In<double, 1> values;
  if (!nb::try_cast<In<double, 1>>(from, values))
    throw std::invalid_argument("the state of a measure has something that is no list of numbers");
  to.assign(values.data(), values.data() + values.shape(0));
}

}  // namespace

nb::dict measure_dict(const MeasureState& state) {
  nb::dict out;
  MeasureState::each(state, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      out[name] = value;
    else
      out[name] = to_array(value);
  });
  return out;
}

MeasureState measure_of(const nb::dict& values, const Measure& measure) {
  MeasureState state;
  std::size_t known = 0;
  MeasureState::each(state, [&](const char* name, auto& value) {
    if (!values.contains(name)) throw std::invalid_argument(std::string("the state of a measure lacks ") + name);
    read(value, values[name]);
    ++known;
  });
  if (known != values.size()) throw std::invalid_argument("the state of a measure has a name too many");
  if (static_cast<int>(state.log_u.size()) != measure.groups() || static_cast<int>(state.alpha.size()) != measure.bases())
    throw std::invalid_argument("log_u and alpha must have one entry per group and per basis measure");
  if (!measure.possible(state)) throw std::invalid_argument("hyper-parameters must lie in their ranges");
  return state;
}

MeasureTraces::MeasureTraces(std::size_t rows, const MeasureState& like) {
  MeasureState::each(like, [&](const char* name, const auto& value) {
    double* data;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
      auto array = make_array<double>({rows}, &data);
      traces_.push_back({name, array, data, 1});
    } else {
      auto array = make_array<double>({rows, value.size()}, &data);
      traces_.push_back({name, array, data, value.size()});
    }
  });
}

void MeasureTraces::put(std::size_t row, const MeasureState& state) {
  std::size_t at = 0;
  MeasureState::each(state, [&](const char*, const auto& value) {
    const Trace& trace = traces_[at++];
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      trace.data[row] = value;
    else
      std::copy(value.begin(), value.end(), trace.data + row * trace.width);
  });
}

void MeasureTraces::into(nb::dict& out) const {
  for (const Trace& trace : traces_) out[trace.name] = trace.array;
}

}  // namespace hedgerow::bindings
