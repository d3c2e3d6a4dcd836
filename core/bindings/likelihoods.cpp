// Likelihoods bound to data.
#include <nanobind/stl/function.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>

#include "arrays.hpp"
#include "hedgerow/likelihoods/categorical.hpp"
#include "hedgerow/likelihoods/custom.hpp"
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/likelihoods/multinomial.hpp"
#include "hedgerow/likelihoods/poisson.hpp"
#include "hedgerow/likelihoods/product.hpp"
#include "hedgerow/likelihoods/row_factors.hpp"

namespace hedgerow::bindings {

static void check_power(double power) { check(power > 0.0 && power <= 1.0, "power must lie in (0, 1]"); }

static Out<double> log_marginals(const Likelihood& likelihood, In<std::int32_t, 1> labels) {
  check(static_cast<int>(labels.shape(0)) == likelihood.rows(), "labels must have one entry per row");
  check(likelihood.imputed_rows().empty(), "rows with missing entries that are filled in have no log marginal in closed form");
  int k = 0;
  for (std::size_t i = 0; i < labels.shape(0); ++i) {
    check(labels(i) >= 0, "labels must not be negative");
    k = std::max(k, labels(i) + 1);
  }
  double* out;
  auto result = make_array<double>({static_cast<std::size_t>(k)}, &out);
  nb::gil_scoped_release release;
  auto statistics = likelihood.statistics(Layout::nodes);
  statistics->reserve(k);
  for (int i = 0; i < likelihood.rows(); ++i) statistics->add(labels(i), i);
  for (int c = 0; c < k; ++c) out[c] = statistics->log_marginal(c);
  return result;
}

// The bare loop that a sweep is measured against: every row scored against all clusters, nothing else. Returns a checksum.
static double predictive_loop(const Likelihood& likelihood, In<std::int32_t, 1> labels, int repeats) {
  check(static_cast<int>(labels.shape(0)) == likelihood.rows(), "labels must have one entry per row");
  int k = 0;
  for (std::size_t i = 0; i < labels.shape(0); ++i) k = std::max(k, labels(i) + 1);
  nb::gil_scoped_release release;
  auto statistics = likelihood.statistics(Layout::clusters);
  statistics->reserve(k);
  for (int i = 0; i < likelihood.rows(); ++i) statistics->add(labels(i), i);
  std::vector<double> out(padded(k));
  double sum = 0.0;
  for (int r = 0; r < repeats; ++r)
    for (int i = 0; i < likelihood.rows(); ++i) {
      statistics->log_predictive_front(i, k, out.data());
      sum += out[0];
    }
  return sum;
}

// A user's batched function in Python. Shared, since functions are copied and there must be one reference to let go of.
struct PyMarginal {
  std::shared_ptr<nb::callable> held;

  explicit PyMarginal(nb::callable callable)
      : held(new nb::callable(std::move(callable)), [](nb::callable* p) {
          nb::gil_scoped_acquire acquire;
          delete p;
        }) {}

  void operator()(const double* s, int k, int width, double* out) const {
    nb::gil_scoped_acquire acquire;
    check(held->is_valid(), "the function of this likelihood is gone");
    double* copy;
    auto batch = make_array<double>({static_cast<std::size_t>(k), static_cast<std::size_t>(width)}, &copy);
    std::copy_n(s, static_cast<std::size_t>(k) * width, copy);
    const auto result = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>((*held)(batch));
    check(static_cast<int>(result.shape(0)) == k, "log_marginal must return one value per row of statistics");
    std::copy_n(result.data(), k, out);
  }
};

static const PyMarginal* function_of(PyObject* self) {
  if (!nb::inst_ready(self)) return nullptr;
  const auto* custom = dynamic_cast<const Custom*>(nb::inst_ptr<Likelihood>(self));
  return custom ? custom->log_marginal().target<PyMarginal>() : nullptr;
}

static int traverse_likelihood(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const PyMarginal* function = function_of(self)) Py_VISIT(function->held->ptr());
  if (!nb::inst_ready(self)) return 0;
  if (const auto* product = dynamic_cast<const Product*>(nb::inst_ptr<Likelihood>(self)))
    for (int i = 0; i < product->parts(); ++i)
      if (const int found = visit_likelihood(product->part(i), visit, arg)) return found;
  return 0;
}

static int clear_likelihood(PyObject* self) {
  if (const PyMarginal* function = function_of(self)) {
    nb::callable gone = std::move(*function->held);  // let go of at the end, when nothing here points to it any more
  }
  return 0;
}

static PyType_Slot likelihood_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_likelihood)},
                                         {Py_tp_clear, reinterpret_cast<void*>(clear_likelihood)},
                                         {0, nullptr}};

void bind_likelihoods(nb::module_& m) {
  nb::class_<Likelihood>(m, "Likelihood", nb::type_slots(likelihood_slots), "A conjugate family bound to its data.")
      .def_prop_ro("n_rows", &Likelihood::rows)
      .def_prop_ro("power", &Likelihood::power)
      .def_prop_ro("serial", &Likelihood::serial)
      .def_prop_ro(
          "n_imputed", [](const Likelihood& l) { return l.imputed_rows().size(); }, "Rows with missing entries that are filled in.")
      .def(
          "fill",
          [](const Likelihood& l, In<double, 1> fillings) {
            const std::vector<double> values = list_of(fillings);
            check(l.load_imputed(values).empty(), "there are more fillings than missing entries");
          },
          nb::arg("fillings"), "Fills missing entries in, row by row.")
      .def(
          "log_single", [](const Likelihood& l) { return to_array(l.log_single()); }, "log p(x) of every row alone.")
      .def("log_marginals", &log_marginals, nb::arg("labels"), "log p(X_c) for every cluster c = 0..max(labels).");

  m.def("predictive_loop", &predictive_loop, nb::arg("likelihood"), nb::arg("labels"), nb::arg("repeats"),
        "Scores every row against all clusters, for benchmarks.");

  m.def(
      "GaussianWishart",
      [](In<double, 2> x, In<double, 1> mean, double r, double nu, In<double, 2> psi, double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        const auto n = x.shape(0), d = x.shape(1);
        check(mean.shape(0) == d && psi.shape(0) == d && psi.shape(1) == d, "mean and psi must match the columns of X");
        nb::gil_scoped_release release;
        return std::make_shared<GaussianWishart>(x.data(), static_cast<int>(n), static_cast<int>(d), mean.data(), r, nu, psi.data(),
                                                 power);
      },
      nb::arg("X"), nb::arg("mean"), nb::arg("r"), nb::arg("nu"), nb::arg("psi"), nb::arg("power") = 1.0);

  m.def(
      "GaussianDiagonal",
      [](In<double, 2> x, In<double, 1> mean, In<double, 1> r, In<double, 1> a, In<double, 1> b,
         double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        const auto n = x.shape(0), d = x.shape(1);
        check(mean.shape(0) == d && r.shape(0) == d && a.shape(0) == d && b.shape(0) == d, "parameters must match the columns of X");
        nb::gil_scoped_release release;
        return std::make_shared<GaussianDiagonal>(x.data(), static_cast<int>(n), static_cast<int>(d), mean.data(), r.data(), a.data(),
                                                  b.data(), power);
      },
      nb::arg("X"), nb::arg("mean"), nb::arg("r"), nb::arg("a"), nb::arg("b"), nb::arg("power") = 1.0);

  m.def(
      "Multinomial",
      [](In<std::int64_t, 1> indptr, In<std::int32_t, 1> indices, In<double, 1> counts, int n_columns, double beta,
         double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        check(indptr.shape(0) >= 1 && indices.shape(0) == counts.shape(0), "not a CSR matrix");
        const std::int64_t nnz = static_cast<std::int64_t>(indices.shape(0));
        check(indptr(0) == 0 && indptr(indptr.shape(0) - 1) == nnz, "not a CSR matrix");
        for (std::size_t i = 0; i + 1 < indptr.shape(0); ++i) {
          check(indptr(i) <= indptr(i + 1) && indptr(i + 1) <= nnz, "not a CSR matrix");
          for (std::int64_t k = indptr(i); k < indptr(i + 1); ++k) {
            check(indices(k) >= 0 && indices(k) < n_columns && (k == indptr(i) || indices(k - 1) < indices(k)),
                  "column indices must be sorted and unique");
            check(counts(k) >= 1.0 && counts(k) <= 2e9, "counts must be positive whole numbers");
          }
        }
        nb::gil_scoped_release release;
        return std::make_shared<Multinomial>(indptr.data(), indices.data(), counts.data(), static_cast<int>(indptr.shape(0)) - 1,
                                             n_columns, beta, power);
      },
      nb::arg("indptr"), nb::arg("indices"), nb::arg("counts"), nb::arg("n_columns"), nb::arg("beta"), nb::arg("power") = 1.0);

  m.def(
      "Categorical",
      [](In<std::int32_t, 2> codes, In<std::int32_t, 1> levels, In<double, 1> beta, double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        const auto n = codes.shape(0), d = codes.shape(1);
        check(levels.shape(0) == d, "levels must match the columns of codes");
        std::size_t cells = 0;
        for (std::size_t j = 0; j < d; ++j) {
          check(levels(j) >= 1, "every column must have a level");
          cells += static_cast<std::size_t>(levels(j));
        }
        check(beta.shape(0) == cells && cells < (std::size_t{1} << 31), "beta must have one number per level of every column");
        for (std::size_t t = 0; t < cells; ++t) check(beta(t) > 0.0, "beta must be positive");
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < d; ++j) check(codes(i, j) < levels(j), "codes must be below the number of levels");
        nb::gil_scoped_release release;
        return std::make_shared<Categorical>(codes.data(), static_cast<int>(n), static_cast<int>(d), levels.data(), beta.data(), power);
      },
      nb::arg("codes"), nb::arg("levels"), nb::arg("beta"), nb::arg("power") = 1.0);

  m.def(
      "Poisson",
      [](In<double, 2> x, In<double, 1> a, In<double, 1> b, double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        const auto n = x.shape(0), d = x.shape(1);
        check(d > 0 && a.shape(0) == d && b.shape(0) == d, "parameters must match the columns of X");
        for (std::size_t j = 0; j < d; ++j) check(a(j) > 0.0 && b(j) > 0.0, "a and b must be positive");
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < d; ++j) check(!(x(i, j) < 0.0 || x(i, j) > 1e15), "counts must be whole numbers from 0 up");
        nb::gil_scoped_release release;
        return std::make_shared<Poisson>(x.data(), static_cast<int>(n), static_cast<int>(d), a.data(), b.data(), power);
      },
      nb::arg("X"), nb::arg("a"), nb::arg("b"), nb::arg("power") = 1.0);

  m.def(
      "Product",
      [](std::vector<std::shared_ptr<Likelihood>> parts) -> std::shared_ptr<Likelihood> {
        for (const auto& part : parts) check(part != nullptr, "parts must be likelihoods");
        return std::make_shared<Product>(std::move(parts));
      },
      nb::arg("parts"));

  m.def(
      "RowFactors",
      [](In<double, 1> logs, double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        for (std::size_t i = 0; i < logs.shape(0); ++i) check(std::isfinite(logs(i)), "logs must be finite");
        return std::make_shared<RowFactors>(logs.data(), static_cast<int>(logs.shape(0)), power);
      },
      nb::arg("logs"), nb::arg("power") = 1.0, "A fixed factor for the density of every row, by its log.");

  m.def(
      "Custom",
      [](In<double, 2> stats, std::uint64_t address, double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        using Function = double (*)(const double*, std::int64_t);
        check(address != 0, "address must not be 0");
        const auto function = reinterpret_cast<Function>(static_cast<std::uintptr_t>(address));
        auto batched = [function](const double* s, int k, int width, double* out) {
          for (int i = 0; i < k; ++i) out[i] = function(s + static_cast<std::size_t>(i) * width, width);
        };
        return std::make_shared<Custom>(stats.data(), static_cast<int>(stats.shape(0)), static_cast<int>(stats.shape(1)), batched,
                                        false, power);
      },
      nb::arg("stats"), nb::arg("address"), nb::arg("power") = 1.0);

  m.def(
      "CustomCallable",
      [](In<double, 2> stats, nb::callable callable, double power) -> std::shared_ptr<Likelihood> {
        check_power(power);
        return std::make_shared<Custom>(stats.data(), static_cast<int>(stats.shape(0)), static_cast<int>(stats.shape(1)),
                                        PyMarginal(std::move(callable)), true, power);
      },
      nb::arg("stats"), nb::arg("callable"), nb::arg("power") = 1.0);
}

}  // namespace hedgerow::bindings
