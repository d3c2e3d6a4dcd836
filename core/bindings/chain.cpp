// Kernels and chains.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/imputation.hpp"
#include "hedgerow/kernels/combine.hpp"
#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/kernels/published.hpp"
#include "hedgerow/kernels/slice.hpp"
#include "hedgerow/kernels/split_merge.hpp"
#include "hedgerow/kernels/tempered.hpp"
#include "hedgerow/kernels/tree_guided.hpp"
#include "hedgerow/smc.hpp"
#include "interrupts.hpp"
#include "measures.hpp"

namespace hedgerow::bindings {

// Makes a fresh kernel for every chain.
struct KernelFactory {
  std::string name;
  std::function<std::unique_ptr<Kernel>()> make;
};

using Values = std::vector<double>;

class PyChain {
 public:
  PyChain(std::shared_ptr<Likelihood> likelihood, const Prior& prior, const KernelFactory& factory, In<std::int32_t, 1> labels,
          std::optional<In<std::int32_t, 1>> groups, std::uint64_t seed, std::uint64_t sequence) {
    std::vector<int> start = list_of(labels);
    check_labels(start, likelihood->rows());
    auto group_list = groups_of(groups, likelihood->rows(), prior.groups);
    chain_ = std::make_unique<Chain>(likelihood, prior, factory.make(), start, std::move(group_list), seed, sequence);
  }

  nb::dict run(int iterations, int thin) {
    const std::size_t it = static_cast<std::size_t>(iterations), n = static_cast<std::size_t>(chain_->state.partition.rows());
    const Measure& measure = chain_->state.measure;
    std::int32_t *labels, *clusters;
    double *log_joint, *stats;
    const std::vector<std::string> names = chain_->kernel().stat_names();
    auto labels_out = make_array<std::int32_t>({it, n}, &labels);
    auto clusters_out = make_array<std::int32_t>({it}, &clusters);
    auto log_joint_out = make_array<double>({it}, &log_joint);
    MeasureTraces traces(it, measure.state());
    auto stats_out = make_array<double>({it, names.size()}, &stats);
    {
      nb::gil_scoped_release release;
      std::vector<double> one(names.size());
      for (std::size_t i = 0; i < it; ++i) {
        for (int j = 0; j < thin; ++j) {
          chain_->step();
          chain_->kernel().stats(one.data());
          for (std::size_t s = 0; s < one.size(); ++s) stats[i * names.size() + s] += one[s] / thin;
        }
        canonical_labels(chain_->state.partition.labels(), labels + i * n);
        clusters[i] = chain_->state.partition.clusters();
        log_joint[i] = chain_->log_joint();
        traces.put(i, measure.state());
      }
    }
    nb::dict out;
    out["labels"] = labels_out;
    out["n_clusters"] = clusters_out;
    out["log_joint"] = log_joint_out;
    traces.into(out);
    out["stats"] = stats_out;
    return out;
  }

  // Replaces the partition by one drawn row by row; uses the chain's own random numbers.
  // Rows are put one by one; those of a warmed-up part keep their clusters, and so does the chain that partition.
  void start_sequentially(std::optional<In<std::int32_t, 1>> labels) {
    const int n = chain_->likelihood().rows();
    std::vector<int> start(n, -1), put;
    if (labels) {
      start = list_of(*labels);
      std::copy_if(start.begin(), start.end(), std::back_inserter(put), [](int c) { return c != -1; });
      if (static_cast<int>(start.size()) != n) throw std::invalid_argument("labels must have one entry per row");
      check_labels(put, static_cast<int>(put.size()));
    }
    nb::gil_scoped_release release;
    allocate_sequentially(chain_->state, start);
  }

  // Iterations done..done+count-1 of a warm-up of `total`; kernels may adapt, nothing is recorded.
  void warm_up(int count, int done, int total) {
    nb::gil_scoped_release release;
    for (int i = 0; i < count; ++i) chain_->warm_up(static_cast<double>(done + i) / total, total);
  }

  void end_warm_up() {
    nb::gil_scoped_release release;
    chain_->end_warm_up();
  }

  nb::dict state() const {
    nb::dict out;
    out["labels"] = to_array(std::vector<std::int32_t>(chain_->state.partition.labels()));
    out["measure"] = measure_dict(chain_->state.measure.state());
    out["rng"] = to_array(std::vector<std::uint64_t>(chain_->state.rng.state().begin(), chain_->state.rng.state().end()));
    out["warming"] = chain_->warming();
    Carried carried;
    chain_->save(carried);
    out["kernel_counters"] = to_array(carried.counters);
    out["kernel_whole"] = to_array(carried.whole);
    out["kernel_real"] = to_array(carried.real);
    return out;
  }

  void set_state(In<std::int32_t, 1> labels, const nb::dict& measure, std::optional<In<std::uint64_t, 1>> rng,
                 std::optional<In<std::int32_t, 1>> kernel_whole, std::optional<In<double, 1>> kernel_real,
                 std::optional<In<std::int32_t, 1>> kernel_counters, std::optional<bool> warming) {
    Measure& m = chain_->state.measure;
    std::vector<int> start = list_of(labels);
    check_labels(start, chain_->likelihood().rows());
    MeasureState values = measure_of(measure, m);
    if (rng && (rng->shape(0) != 4 || !((*rng)(0) | (*rng)(1) | (*rng)(2) | (*rng)(3))))
      throw std::invalid_argument("rng must have four words, not all 0");
    m.set(std::move(values));
    chain_->state.partition.assign(start);
    if (rng) {
      chain_->state.rng.set_state({(*rng)(0), (*rng)(1), (*rng)(2), (*rng)(3)});
    }
    if (!kernel_whole || !kernel_real) return;
    Carried carried;
    if (kernel_counters) carried.counters = list_of(*kernel_counters);
    carried.whole.assign(kernel_whole->data(), kernel_whole->data() + kernel_whole->size());
    carried.real.assign(kernel_real->data(), kernel_real->data() + kernel_real->size());
    chain_->load(carried, warming.value_or(true), !warming.has_value());
  }

  std::vector<std::string> stat_names() const { return chain_->kernel().stat_names(); }
  double log_joint() { return chain_->log_joint(); }
  // Of the mode that the present partition is a draw of, about.
  double log_mass() {
    nb::gil_scoped_release release;
    chain_->state.partition.rebuild();
    return Gibbs().log_mass(chain_->state);
  }
  int clusters() const { return chain_->state.partition.clusters(); }
  Chain& chain() { return *chain_; }

 private:
  std::unique_ptr<Chain> chain_;
};

void bind_chain(nb::module_& m) {
  nb::class_<KernelFactory>(m, "Kernel", "A recipe for a kernel; every chain makes its own.")
      .def_prop_ro("name", [](const KernelFactory& k) { return k.name; });

  m.def(
      "gibbs",
      [](int subset, bool explicit_bases) {
        return KernelFactory{"Gibbs", [=] { return std::make_unique<Gibbs>(subset, explicit_bases); }};
      },
      nb::arg("subset") = 0, nb::arg("explicit_bases") = false);

  m.def(
      "split_merge",
      [](int scans, int subset) {
        return KernelFactory{"SplitMerge", [scans, subset] { return std::make_unique<SplitMerge>(scans, subset); }};
      },
      nb::arg("scans"), nb::arg("subset") = 0);

  const auto combine = [](const std::vector<KernelFactory>& parts, const std::vector<double>& weights) {
    std::vector<Combined::Part> made;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      int same = 0, before = 0;
      for (std::size_t j = 0; j < parts.size(); ++j) {
        same += parts[j].name == parts[i].name;
        before += j <= i && parts[j].name == parts[i].name;
      }
      made.push_back({same > 1 ? parts[i].name + std::to_string(before) : parts[i].name, parts[i].make(), weights[i]});
    }
    return made;
  };
  m.def(
      "cycle",
      [combine](std::vector<KernelFactory> parts) {
        std::vector<double> weights(parts.size(), 1.0);
        return KernelFactory{"cycle", [=] { return std::make_unique<Cycle>(combine(parts, weights)); }};
      },
      nb::arg("parts"));
  m.def(
      "mix",
      [combine](std::vector<KernelFactory> parts, std::vector<double> weights) {
        if (parts.size() != weights.size()) throw std::invalid_argument("one weight per part is needed");
        return KernelFactory{"mix", [=] { return std::make_unique<Mix>(combine(parts, weights)); }};
      },
      nb::arg("parts"), nb::arg("weights"));

  m.def(
      "tempered",
      [](const KernelFactory& kernel, std::vector<std::shared_ptr<Likelihood>> rungs, const Prior& prior,
         std::optional<In<std::int32_t, 1>> groups) {
        if (rungs.empty()) throw std::invalid_argument("at least one rung is needed");
        const int n = rungs[0]->rows();
        for (const auto& rung : rungs)
          if (rung->rows() != n) throw std::invalid_argument("all rungs must have the same rows");
        const std::vector<int> group_list = groups_of(groups, n, prior.groups);
        return KernelFactory{"Tempered", [=]() -> std::unique_ptr<Kernel> {
                               std::vector<std::unique_ptr<Tempered::Rung>> made;
                               for (const auto& rung : rungs)
                                 made.push_back(std::make_unique<Tempered::Rung>(rung, prior, group_list, kernel.make()));
                               return std::make_unique<Tempered>(kernel.make(), std::move(made));
                             }};
      },
      nb::arg("kernel"), nb::arg("rungs"), nb::arg("prior"), nb::arg("groups") = nb::none());

  m.def(
      "tree_guided_published",
      [](int global_moves, int depth) {
        return KernelFactory{"TreeGuidedPublished", [=] { return std::make_unique<Published>(global_moves, depth); }};
      },
      nb::arg("global_moves"), nb::arg("depth"));

  m.def("slice", [] { return KernelFactory{"Slice", [] { return std::make_unique<Slice>(); }}; });

  nb::class_<Halt>(m, "Halt", "Asks work in other threads to end.").def(nb::init<>()).def("ask", [](Halt& halt) { halt.asked = true; });

  m.def(
      "smc",
      [](const Likelihood& likelihood, const Prior& prior, std::optional<In<std::int32_t, 1>> groups, int particles, double threshold,
         std::uint64_t seed, std::uint64_t sequence, bool shuffle, const Halt* halt) {
        SmcResult result;
        const std::vector<int> group_list = groups_of(groups, likelihood.rows(), prior.groups);
        {
          Interruptible work(halt);
          result = smc(likelihood, prior, group_list, particles, threshold, seed, sequence, shuffle);
        }
        nb::dict out;
        std::int32_t* labels;
        auto labels_out =
            make_array<std::int32_t>({static_cast<std::size_t>(particles), static_cast<std::size_t>(likelihood.rows())}, &labels);
        std::copy(result.labels.begin(), result.labels.end(), labels);
        const std::size_t P = static_cast<std::size_t>(particles);
        MeasureTraces traces(P, result.measures[0]);
        for (std::size_t p = 0; p < P; ++p) traces.put(p, result.measures[p]);
        traces.into(out);
        out["log_evidence"] = result.log_evidence;
        out["log_weights"] = to_array(result.log_weights);
        out["labels"] = labels_out;
        out["log_joint"] = to_array(result.log_joint);
        out["first_ancestors"] = to_array(std::vector<std::int32_t>(result.first_ancestors));
        out["effective"] = to_array(result.effective);
        out["resamplings"] = result.resamplings;
        return out;
      },
      nb::arg("likelihood"), nb::arg("prior"), nb::arg("groups"), nb::arg("particles"), nb::arg("threshold"), nb::arg("seed"),
      nb::arg("sequence"), nb::arg("shuffle"), nb::arg("halt") = nb::none());

  nb::class_<WeightedGuide>(m, "WeightedGuide", "A guide tree with P(not one cluster) per node.")
      .def(
          "__init__",
          [](WeightedGuide* self, In<std::int32_t, 1> left, In<std::int32_t, 1> right, std::optional<In<double, 1>> split_probability) {
            std::vector<int> nodes;
            WeightedGuide guide{Guide(list_of(left), list_of(right), &nodes), {}};
            if (split_probability) {
              if (split_probability->shape(0) != left.shape(0))
                throw std::invalid_argument("split_probability must have one entry per node");
              for (int v : nodes) {
                const double p = (*split_probability)(v);
                if (!(p >= 0.0 && p <= 1.0)) throw std::invalid_argument("split_probability must lie in [0, 1]");
                guide.split_probability.push_back(static_cast<float>(p));
              }
            }
            new (self) WeightedGuide(std::move(guide));
          },
          nb::arg("left"), nb::arg("right"), nb::arg("split_probability") = nb::none())
      .def_prop_ro("rows", [](const WeightedGuide& g) { return g.tree.rows(); });

  m.def(
      "tree_guided",
      [](std::vector<std::shared_ptr<WeightedGuide>> guides, int wanted, std::uint64_t seed, std::uint64_t sequence, int global_moves,
         int single_moves, double recasts, bool anneal, double sweep_rate) {
        if (guides.empty() && wanted < 1) throw std::invalid_argument("at least one guide is needed");
        const GuideSource grown{wanted, seed, sequence};
        const Guides held(guides.begin(), guides.end());
        return KernelFactory{"TreeGuided", [=]() -> std::unique_ptr<Kernel> {
                               if (anneal) return TreeGuided::annealed(held, grown, global_moves, single_moves, recasts, sweep_rate);
                               return std::make_unique<TreeGuided>(held, grown, global_moves, single_moves, recasts, sweep_rate);
                             }};
      },
      nb::arg("guides"), nb::arg("grown"), nb::arg("seed"), nb::arg("sequence"), nb::arg("global_moves"), nb::arg("single_moves"),
      nb::arg("recasts"), nb::arg("anneal"), nb::arg("sweep_rate"));

  constexpr auto likelihood_of = [](PyChain& c) -> const Likelihood& { return c.chain().likelihood(); };
  nb::class_<PyChain>(m, "Chain", nb::type_slots(holder_slots<PyChain, likelihood_of>),
                      "One chain: a state and the kernel that moves it.")
      .def(nb::init<std::shared_ptr<Likelihood>, const Prior&, const KernelFactory&, In<std::int32_t, 1>,
                    std::optional<In<std::int32_t, 1>>, std::uint64_t, std::uint64_t>(),
           nb::arg("likelihood"), nb::arg("prior"), nb::arg("kernel"), nb::arg("labels"), nb::arg("groups") = nb::none(),
           nb::arg("seed") = 0, nb::arg("sequence") = 0)
      .def("run", &PyChain::run, nb::arg("iterations"), nb::arg("thin") = 1)
      .def("warm_up", &PyChain::warm_up, nb::arg("count"), nb::arg("done"), nb::arg("total"))
      .def("end_warm_up", &PyChain::end_warm_up)
      .def_prop_ro("warming", [](PyChain& c) { return c.chain().warming(); })
      .def("start_sequentially", &PyChain::start_sequentially, nb::arg("labels") = nb::none())
      .def("state", &PyChain::state)
      .def("set_state", &PyChain::set_state, nb::arg("labels"), nb::arg("measure"), nb::arg("rng") = nb::none(),
           nb::arg("kernel_whole") = nb::none(), nb::arg("kernel_real") = nb::none(), nb::arg("kernel_counters") = nb::none(),
           nb::arg("warming") = nb::none())
      .def("log_joint", &PyChain::log_joint)
      .def("log_mass", &PyChain::log_mass)
      .def_prop_ro("n_clusters", &PyChain::clusters)
      .def_prop_ro("stat_names", &PyChain::stat_names)
      .def_prop_rw(
          "settled", [](PyChain& c) { return c.chain().state.settled; }, [](PyChain& c, bool v) { c.chain().state.settled = v; },
          "Whether the chain set out from where another one, over a part of the rows, had settled.")
      .def_prop_rw(
          "update_u", [](PyChain& c) { return c.chain().state.update_u; }, [](PyChain& c, bool v) { c.chain().state.update_u = v; })
      .def_prop_rw(
          "update_hyper", [](PyChain& c) { return c.chain().state.update_hyper; },
          [](PyChain& c, bool v) { c.chain().state.update_hyper = v; });
}

}  // namespace hedgerow::bindings
