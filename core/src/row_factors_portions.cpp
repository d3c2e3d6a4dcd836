// Rows that count in part under fixed factors, which have no parameters.
#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihoods/row_factors.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

class RowFactorPortions final : public Portions {
 public:
  explicit RowFactorPortions(const RowFactors& family) : f_(family) {}

  void open(std::span<const int> rows, int) override {
    logs_.assign(padded(static_cast<int>(rows.size())), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) logs_[i] = f_.log_single()[rows[i]];
  }
  double weigh(int, const double* weights) override { return simd().dot(weights, logs_.data(), static_cast<int>(logs_.size())); }
  int atom_size() const override { return 0; }
  void middle_atom(int, double*) const override {}
  void draw_atom(int, Rng&, double*) const override {}
  void log_densities(const double*, double* out) const override { std::copy(logs_.begin(), logs_.end(), out); }
  bool pays() const override { return false; }

 private:
  const RowFactors& f_;
  AlignedVector<double> logs_;
};

}  // namespace

std::unique_ptr<Portions> RowFactors::portions() const { return std::make_unique<RowFactorPortions>(*this); }

}  // namespace hedgerow
