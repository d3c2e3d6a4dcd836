// Gaussian clusters of rows that count in part.
//
// An atom is (constant, μ, G row by row) with Λ = GᵀG and G a lower triangle: log L(x|θ) = constant − ½|G(x − μ)|² of the whitened row.
// With Ψ_n = CCᵀ and B = C⁻¹, G = LB, where LᵀL is a Wishart matrix of scale I (Bartlett's decomposition, indices reversed).
#include <cmath>

#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/special.hpp"
#include "packed.hpp"

namespace hedgerow {
namespace {

class GaussianPortions final : public Portions {
 public:
  explicit GaussianPortions(const GaussianWishart& family) : f_(family), work_(t()) {}

  void open(std::span<const int> rows, int slots) override {
    records_.resize(static_cast<std::size_t>(slots) * width());
    room_ = padded(static_cast<int>(rows.size()));
    columns_.assign(static_cast<std::size_t>(room_) * d(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (int j = 0; j < d(); ++j) columns_[static_cast<std::size_t>(j) * room_ + i] = f_.row(rows[i])[j];
  }

  double weigh(int slot, const double* weights) override {
    double *p = record(slot), *mean = p + 1, *scale = mean + d();
    const double n = simd().window_moments(columns_.data(), room_, d(), weights, mean, scale);
    const double shrink = f_.r() * n / (f_.r() + n);
    for (int i = 0, k = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j, ++k) scale[k] += shrink * mean[i] * mean[j] + (i == j ? 1.0 : 0.0);
    for (int j = 0; j < d(); ++j) mean[j] *= n / (f_.r() + n);  // of μ given the rows
    p[0] = n;
    const double logdet = packed::cholesky(scale, d());
    packed::invert_triangle(scale, d(), work_.data());
    std::copy_n(work_.data(), t(), scale);
    return f_.marginal_constant_of(n) - 0.5 * f_.freedom(n) * logdet;
  }

  int atom_size() const override { return 1 + d() + t(); }

  void middle_atom(int slot, double* atom) const override {
    const double* p = record(slot);
    const double root = std::sqrt(f_.freedom(p[0]));
    std::copy_n(p + 1, d(), atom + 1);
    for (int i = 0; i < t(); ++i) atom[1 + d() + i] = root * p[1 + d() + i];
    set_constant(atom);
  }

  void draw_atom(int slot, Rng& rng, double* atom) const override {
    const double *p = record(slot), *b = p + 1 + d();
    double *g = atom + 1 + d(), *l = work_.data(), *mean = atom + 1;
    for (int i = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j)
        l[packed::size(i) + j] =
            j < i ? rng.normal() : std::exp(0.5 * (rng.log_gamma_variate(0.5 * (f_.freedom(p[0]) - (d() - 1 - i))) + std::log(2.0)));
    for (int i = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j) {
        double s = 0.0;
        for (int k = j; k <= i; ++k) s += l[packed::size(i) + k] * b[packed::size(k) + j];
        g[packed::size(i) + j] = s;
      }
    // μ = m_n + G⁻¹ε / √(r+n).
    for (int i = 0; i < d(); ++i) {
      double s = rng.normal();
      for (int j = 0; j < i; ++j) s -= g[packed::size(i) + j] * mean[j];
      mean[i] = s / g[packed::size(i) + i];
    }
    for (int i = 0; i < d(); ++i) mean[i] = p[1 + i] + mean[i] / std::sqrt(f_.r() + p[0]);
    set_constant(atom);
  }

  void log_densities(const double* atom, double* out) const override {
    simd().window_densities(columns_.data(), room_, d(), atom + 1, atom + 1 + d(), atom[0], out);
  }

  // As seen: of a thousand windows of five columns one is accepted, of eight columns next to none.
  bool pays() const override { return d() <= 8; }

 private:
  int d() const { return f_.dimension(); }
  int t() const { return packed::size(d()); }
  int width() const { return 1 + d() + t(); }  // n, the mean of μ, C⁻¹
  double* record(int slot) { return records_.data() + static_cast<std::size_t>(slot) * width(); }
  const double* record(int slot) const { return records_.data() + static_cast<std::size_t>(slot) * width(); }
  void set_constant(double* atom) const {
    double sum = f_.log_jacobian() - 0.5 * d() * kLog2Pi;
    for (int i = 0; i < d(); ++i) sum += std::log(atom[1 + d() + packed::size(i) + i]);
    atom[0] = f_.power() * sum;
  }

  const GaussianWishart& f_;
  int room_ = 0;
  std::vector<double> records_;
  AlignedVector<double> columns_;
  mutable std::vector<double> work_;
};

}  // namespace

std::unique_ptr<Portions> GaussianWishart::portions() const { return std::make_unique<GaussianPortions>(*this); }

}  // namespace hedgerow
