// Priors, and measures with their states, between Python and the core.
#include "measures.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "hedgerow/builder.hpp"

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

std::vector<int> sizes_of(In<std::int64_t, 1> sizes) {
  std::vector<int> out(sizes.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    check(sizes(i) >= 1 && sizes(i) <= 2147483647, "sizes must lie in 1..2^31-1");
    out[i] = static_cast<int>(sizes(i));
  }
  return out;
}

// α, σ, τ and what else there is by name, and the laws of those that have one.
Prior make_prior(const std::string& kind, const nb::dict& values, const nb::dict& laws, std::optional<In<double, 2>> q) {
  Prior prior;
  prior.form = closed_form(kind);
  if (!prior.form && kind != "dp" && kind != "nrm") throw std::invalid_argument("kind must be 'dp', 'nrm' or that of a closed form");
  prior.kind = prior.form ? PriorKind::closed : kind == "dp" ? PriorKind::dp : PriorKind::nrm;
  const auto law_of = [&](const char* name) -> std::optional<Law> {
    if (!laws.contains(name)) return std::nullopt;
    const auto [a, b] = nb::cast<std::pair<double, double>>(laws[name]);
    return Law{a, b};
  };
  for (const auto& [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const auto number = nb::cast<double>(value);
    if (name == "alpha")
      prior.alpha = number;
    else if (name == "sigma")
      prior.sigma = number;
    else if (name == "tau")
      prior.tau = number;
    else
      prior.own.push_back({name, number, law_of(name.c_str())});
  }
  for (const auto& [key, law] : laws)
    if (!values.contains(key)) throw std::invalid_argument("a law is that of a value");
  prior.alpha_law = law_of("alpha");
  prior.sigma_law = law_of("sigma");
  prior.tau_law = law_of("tau");
  if (q) {
    prior.groups = static_cast<int>(q->shape(0));
    prior.bases = static_cast<int>(q->shape(1));
    prior.q.assign(q->data(), q->data() + q->size());
    if (prior.kind == PriorKind::dp) prior.kind = PriorKind::nrm;
  }
  return prior;
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
  MeasureState state = measure.state();
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
  for (const Trace& trace : traces_) out[trace.name.c_str()] = trace.array;
}

void bind_measures(nb::module_& m) {
  nb::class_<Prior>(m, "Prior", "Start values and laws of a prior.")
      .def(
          "__init__",
          [](Prior* self, const std::string& kind, const nb::dict& values, const nb::dict& laws, std::optional<In<double, 2>> q) {
            new (self) Prior(make_prior(kind, values, laws, q));
          },
          nb::arg("kind"), nb::arg("values"), nb::arg("laws"), nb::arg("q") = nb::none())
      .def_prop_ro("groups", [](const Prior& p) { return p.groups; })
      .def_prop_ro("bases", [](const Prior& p) { return p.bases; });

  nb::class_<Measure>(m, "Measure", "A plain normalized random measure with u and its hyper-parameters as state.")
      .def(
          "__init__",
          [](Measure* self, const Prior& prior, std::int64_t n) {
            check(prior.groups == 1 && prior.bases == 1 && prior.q.empty(), "a prior with one measure is needed");
            check(n >= 1 && n <= 2147483647, "n must lie in 1..2^31-1");
            new (self) Measure(prior, {static_cast<int>(n)});
          },
          nb::arg("prior"), nb::arg("n"))
      .def(
          "log_kappa",
          [](const Measure& self, In<std::int64_t, 1> sizes) {
            std::vector<double> out;
            for (int size : sizes_of(sizes)) out.push_back(self.log_kappa(size) - size * self.log_unit(0));
            return to_array(out);
          },
          nb::arg("sizes"), "log of the prior weight of clusters of these sizes.")
      .def(
          "log_partition", [](const Measure& self, In<std::int64_t, 1> sizes) { return self.log_partition(sizes_of(sizes), {}); },
          nb::arg("sizes"))
      .def("log_front", &Measure::log_front)
      .def(
          "log_weights",
          [](const Measure& self, In<std::int64_t, 1> sizes, std::uint64_t seed) {
            Rng rng(seed);
            std::vector<double> out;
            for (int size : sizes_of(sizes)) out.push_back(rng.log_gamma_variate(size - self.sigma()) + self.join_shift(0));
            return nb::make_tuple(to_array(out), self.log_new(0));
          },
          nb::arg("sizes"), nb::arg("seed"), "Draws of the log weights of occupied atoms given u, and the log weight of a new cluster.")
      .def(
          "update",
          [](Measure& self, In<std::int64_t, 1> sizes, std::uint64_t seed, bool u, bool hyper) {
            Rng rng(seed);
            const std::vector<int> list = sizes_of(sizes);
            if (u) self.update_u(rng, list, {});
            if (hyper) self.update_hyper(rng, list, {}, u);
          },
          nb::arg("sizes"), nb::arg("seed"), nb::arg("u") = true, nb::arg("hyper") = true)
      .def(
          "first_guess",
          [](Measure& self, std::uint64_t seed) {
            Rng rng(seed);
            first_guess(self, rng, self.group_sizes()[0], {0.0}, 0);
          },
          nb::arg("seed"), "A first u, before there are clusters.")
      .def("state", [](const Measure& self) { return measure_dict(self.state()); })
      .def("set_state", [](Measure& self, const nb::dict& measure) { self.set(measure_of(measure, self)); }, nb::arg("measure"));
}

}  // namespace hedgerow::bindings
