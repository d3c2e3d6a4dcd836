// Explicit parameters of a Gaussian cluster, drawn from its posterior. Included by gaussian_wishart_statistics.hpp.
#pragma once

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {

template <int D>
void GaussianWishartStatistics<D>::draw_atom(int slot, Rng& rng, double* atom) {
  const Record p = record(slot);
  const double n = p.n(), r = f_.r();
  std::vector<double> c(t()), bartlett(t()), inverse(t()), work(d());
  posterior_scale(n, p.mean(), p.scatter(), c.data());
  const double logdet = packed::cholesky(c.data(), d());
  double log_bartlett = 0.0;
  for (int i = 0; i < d(); ++i)
    for (int j = 0; j <= i; ++j) {
      double& a = bartlett[packed::size(i) + j];
      if (j < i) {
        a = rng.normal();
      } else {  // a chi variate with ν + ζn − i degrees of freedom
        a = std::exp(0.5 * (rng.log_gamma_variate(0.5 * (f_.freedom(n) - i)) + std::log(2.0)));
        log_bartlett += std::log(a);
      }
    }
  packed::invert_triangle(c.data(), d(), inverse.data());
  double* m = atom + 1 + d();  // Mᵀ[k][i] = Σ_l C⁻¹[l][i] A[l][k]
  for (int k = 0; k < d(); ++k)
    for (int i = 0; i < d(); ++i) {
      double sum = 0.0;
      for (int l = std::max(i, k); l < d(); ++l) sum += inverse[packed::size(l) + i] * bartlett[packed::size(l) + k];
      m[k * d() + i] = sum;
    }
  // μ = m_n + C A⁻ᵀ ε / √(r+n).
  for (int i = 0; i < d(); ++i) work[i] = rng.normal();
  for (int i = d() - 1; i >= 0; --i) {
    for (int l = i + 1; l < d(); ++l) work[i] -= bartlett[packed::size(l) + i] * work[l];
    work[i] /= bartlett[packed::size(i) + i];
  }
  for (int i = 0; i < d(); ++i) {
    double noise = 0.0;
    for (int l = 0; l <= i; ++l) noise += c[packed::size(i) + l] * work[l];
    atom[1 + i] = n / (r + n) * p.mean()[i] + noise / std::sqrt(r + n);
  }
  atom[0] = f_.power() * (log_bartlett - 0.5 * logdet - 0.5 * d() * kLog2Pi + f_.log_jacobian());
}

template <int D>
double GaussianWishartStatistics<D>::log_density(int row, const double* atom) {
  const double* x = f_.row(row);
  const double* mean = atom + 1;
  const double* m = mean + d();
  double q = 0.0;
  for (int k = 0; k < d(); ++k) {
    double s = 0.0;
    for (int i = 0; i < d(); ++i) s += m[k * d() + i] * (x[i] - mean[i]);
    q += s * s;
  }
  return atom[0] - 0.5 * q;
}

}  // namespace hedgerow
