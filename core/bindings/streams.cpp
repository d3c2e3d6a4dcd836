// Trees over streams.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/stream.hpp"
#include "measures.hpp"

namespace hedgerow::bindings {
namespace {

using Groups = std::optional<In<std::int32_t, 1>>;

std::vector<int> checked_groups(const Groups& groups, int rows, int count) {
  if (!groups) {
    if (count > 1) throw std::invalid_argument("this prior has several groups: every row needs one");
    return {};
  }
  std::vector<int> out(groups->data(), groups->data() + groups->shape(0));
  if (static_cast<int>(out.size()) != rows) throw std::invalid_argument("groups must have one entry per row");
  for (int t : out)
    if (t < 0 || t >= count) throw std::invalid_argument("groups must be numbered 0 .. groups - 1");
  return out;
}

using When = std::optional<In<double, 1>>;

std::vector<double> checked_when(const When& when, int rows, const StreamOptions& options) {
  if (!options.clock) return {};
  if (!when || static_cast<int>(when->shape(0)) != rows) throw std::invalid_argument("every row needs its time");
  std::vector<double> out(when->data(), when->data() + when->shape(0));
  for (double t : out)
    if (!std::isfinite(t)) throw std::invalid_argument("times must be finite");
  return out;
}

StreamOptions options_of(int max_nodes, bool revise, bool remember, int repeats, double half_life, bool clock) {
  if (repeats < 1) throw std::invalid_argument("repeats must be 1 or more");
  if (!(half_life >= 0.0) || !std::isfinite(half_life)) throw std::invalid_argument("the half-life must be a number from 0 up");
  if (half_life > 0.0 && max_nodes > 0) throw std::invalid_argument("rows that are to be forgotten cannot be folded");
  StreamOptions out;
  out.max_nodes = max_nodes;
  out.revise = revise;
  out.remember = remember;
  out.repeats = repeats;
  out.half_life = half_life;
  out.clock = clock && half_life > 0.0;
  return out;
}

// One list of the state's parts, for both directions.
template <class State, class Ints, class Longs, class Doubles>
void each_array(State& s, const Ints& ints, const Longs& longs, const Doubles& doubles) {
  ints("left", s.left), ints("right", s.right), ints("size", s.size), ints("free_nodes", s.free_nodes), ints("roots", s.roots);
  ints("tags", s.tags), ints("groups", s.groups), ints("group_sizes", s.group_sizes), ints("compared", s.compared);
  ints("row_point", s.row_point), ints("free_rows", s.free_rows), ints("doubtful", s.doubtful), ints("home", s.home),
      ints("folds", s.folds);
  ints("fold_node", s.fold_node), ints("event_kind", s.event_kind), ints("event_cluster", s.event_cluster);
  ints("event_other", s.event_other), ints("event_size", s.event_size);
  longs("event_at", s.event_at), longs("packed_start", s.packed_start);
  doubles("log_like", s.log_like), doubles("slack", s.slack), doubles("log_q", s.log_q), doubles("packed", s.packed);
}

nb::dict state_dict(Stream& stream) {
  StreamState s = stream.state();
  nb::dict out;
  auto keep = [&](const char* name, const auto& v) { out[name] = to_array(v); };
  each_array(s, keep, keep, keep);
  if (!s.imputed.empty()) out["imputed"] = to_array(s.imputed);
  if (!s.due.empty()) {
    out["due"] = to_array(s.due);
    out["now"] = to_array(std::vector<double>{s.now});
  }
  out["measure"] = measure_dict(s.measure);
  out["rng"] = to_array(std::vector<std::uint64_t>(s.rng.begin(), s.rng.end()));
  out["counters"] = to_array(std::vector<std::int64_t>{s.seen, s.next_id, s.swept_at, s.cursor});
  return out;
}

template <class T>
std::vector<T> array_of(const nb::dict& d, const char* name) {
  if (!d.contains(name)) throw std::invalid_argument(std::string("the state lacks ") + name);
  const auto a = nb::cast<In<T, 1>>(d[name]);
  return std::vector<T>(a.data(), a.data() + a.shape(0));
}

StreamState state_of(const nb::dict& d, const Prior& prior) {
  StreamState s;
  if (!d.contains("measure")) throw std::invalid_argument("the state lacks measure");
  s.measure = measure_of(nb::cast<nb::dict>(d["measure"]), Measure(prior, std::vector<int>(prior.groups, 0)));
  each_array(
      s, [&](const char* name, auto& v) { v = array_of<std::int32_t>(d, name); },
      [&](const char* name, auto& v) { v = array_of<std::int64_t>(d, name); },
      [&](const char* name, auto& v) { v = array_of<double>(d, name); });
  if (d.contains("imputed")) s.imputed = array_of<double>(d, "imputed");
  if (d.contains("due")) {
    s.due = array_of<double>(d, "due");
    const auto now = array_of<double>(d, "now");
    if (now.size() != 1) throw std::invalid_argument("the state's parts have other shapes");
    s.now = now[0];
  }
  const auto rng = array_of<std::uint64_t>(d, "rng");
  const auto counters = array_of<std::int64_t>(d, "counters");
  if (rng.size() != 4 || counters.size() != 4) throw std::invalid_argument("the state's parts have other shapes");
  std::copy(rng.begin(), rng.end(), s.rng.begin());
  s.seen = counters[0];
  s.next_id = static_cast<std::int32_t>(counters[1]);
  s.swept_at = counters[2];
  s.cursor = static_cast<std::int32_t>(counters[3]);
  return s;
}

Stream* start(std::shared_ptr<Likelihood> likelihood, const Prior& prior, Groups groups, int max_nodes, bool revise, bool remember,
              int repeats, double half_life, bool clock, std::uint64_t seed, When when) {
  const std::vector<int> g = checked_groups(groups, likelihood->rows(), prior.groups);
  const StreamOptions options = options_of(max_nodes, revise, remember, repeats, half_life, clock);
  const std::vector<double> times = checked_when(when, likelihood->rows(), options);
  nb::gil_scoped_release release;
  return new Stream(std::move(likelihood), prior, g, times, options, seed);
}

}  // namespace

void bind_streams(nb::module_& m) {
  constexpr auto likelihood_of = [](Stream& s) -> const Likelihood& { return s.likelihood(); };
  nb::class_<Stream>(m, "TreeStream", nb::type_slots(holder_slots<Stream, likelihood_of>), "A forest that rows keep coming to.")
      .def(nb::new_(&start), nb::arg("likelihood"), nb::arg("prior"), nb::arg("groups") = nb::none(), nb::arg("max_nodes") = 0,
           nb::arg("revise") = true, nb::arg("remember") = true, nb::arg("repeats") = 1, nb::arg("half_life") = 0.0,
           nb::arg("clock") = false, nb::arg("seed") = 0, nb::arg("when") = nb::none())
      .def_static(
          "from_state",
          [](std::shared_ptr<Likelihood> likelihood, const Prior& prior, int max_nodes, bool revise, bool remember, int repeats,
             double half_life, bool clock, const nb::dict& state) {
            return new Stream(std::move(likelihood), prior, options_of(max_nodes, revise, remember, repeats, half_life, clock),
                              state_of(state, prior));
          },
          nb::arg("likelihood"), nb::arg("prior"), nb::arg("max_nodes"), nb::arg("revise"), nb::arg("remember"), nb::arg("repeats"),
          nb::arg("half_life"), nb::arg("clock"), nb::arg("state"), nb::rv_policy::take_ownership)
      .def(
          "add",
          [](Stream& s, const Likelihood& batch, Groups groups, When when) {
            const std::vector<int> g = checked_groups(groups, batch.rows(), s.measure().groups());
            const std::vector<double> times = checked_when(when, batch.rows(), s.options());
            nb::gil_scoped_release release;
            s.add(batch, g, times);
          },
          nb::arg("batch"), nb::arg("groups") = nb::none(), nb::arg("when") = nb::none(),
          "Puts the rows of a bound likelihood into the forest.")
      .def("extend_groups", &Stream::extend_groups, nb::arg("prior"))
      .def("batch_rows", [](const Stream& s) { return to_array(std::vector<std::int32_t>(s.batch_rows())); })
      .def(
          "predictive",
          [](Stream& s, const Likelihood& batch, Groups groups) {
            const std::vector<int> g = checked_groups(groups, batch.rows(), s.measure().groups());
            double* data;
            auto out =
                make_array<double>({static_cast<std::size_t>(batch.rows()), static_cast<std::size_t>(s.forest().roots() + 1)}, &data);
            nb::gil_scoped_release release;
            s.predictive(batch, g, data);
            return out;
          },
          nb::arg("batch"), nb::arg("groups") = nb::none())
      .def("ids",
           [](Stream& s) {
             std::vector<std::int32_t> ids(s.forest().roots());
             for (int k = 0; k < s.forest().roots(); ++k) ids[k] = s.forest().tag(k);
             return to_array(ids);
           })
      .def("sizes",
           [](Stream& s) {
             std::vector<std::int32_t> sizes(s.forest().roots());
             for (int k = 0; k < s.forest().roots(); ++k) sizes[k] = s.forest().size(s.forest().root(k));
             return to_array(sizes);
           })
      .def(
          "labels",
          [](const Stream& s, std::int64_t first, std::int64_t count) {
            if (first < 0 || count < 0 || first > s.seen() - count) throw std::invalid_argument("no such points");
            std::int32_t* data;
            auto out = make_array<std::int32_t>({static_cast<std::size_t>(count)}, &data);
            nb::gil_scoped_release release;
            s.labels(first, count, data);
            return out;
          },
          nb::arg("first"), nb::arg("count"))
      .def(
          "events",
          [](const Stream& s, std::size_t first) {
            std::vector<std::int64_t> at;
            std::vector<std::int32_t> kind, cluster, other, size;
            for (std::size_t i = first; i < s.events().size(); ++i) {
              const Event& e = s.events()[i];
              at.push_back(e.at);
              kind.push_back(e.kind);
              cluster.push_back(e.cluster);
              other.push_back(e.other);
              size.push_back(e.size);
            }
            return nb::make_tuple(to_array(at), to_array(kind), to_array(cluster), to_array(other), to_array(size));
          },
          nb::arg("first") = 0, "(at, kind, cluster, other, size) arrays; kinds: 0 born, 1 split, 2 joined, 3 died.")
      .def(
          "moved_last",
          [](const Stream& s) {
            nb::list out;
            for (const Stream::Moved& one : s.moved_last()) out.append(nb::make_tuple(one.event, to_array(one.points)));
            return out;
          },
          "Of the last batch: the number of an event and the points that moved in it.")
      .def("arrays",
           [](Stream& s) {
             std::vector<std::int64_t> points;
             nb::dict out = forest_dict(s.arrays(points));
             out["points"] = to_array(points);
             return out;
           })
      .def("measure", [](Stream& s) { return measure_dict(s.measure().state()); })
      .def("log_joint", [](Stream& s) { return s.forest().log_joint(); })
      .def("log_front", [](Stream& s) { return s.measure().log_front(); })
      .def("mean_depth", [](Stream& s) { return s.forest().mean_depth(); })
      .def("state", &state_dict)
      .def_prop_ro("n_seen", &Stream::seen)
      .def_prop_ro("n_events", [](const Stream& s) { return s.events().size(); })
      .def_prop_ro("n_clusters", [](Stream& s) { return s.forest().roots(); })
      .def_prop_ro("n_nodes", [](Stream& s) { return s.forest().inner_nodes(); })
      .def_prop_ro("evaluations", [](Stream& s) { return s.forest().evaluations(); });
}

}  // namespace hedgerow::bindings
