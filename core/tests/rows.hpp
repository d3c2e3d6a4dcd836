// Rows that the tests make up.
#pragma once

#include <vector>

#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/rng.hpp"

inline std::vector<double> normals(hedgerow::Rng& rng, int n, double scale) {
  std::vector<double> x(n);
  for (double& v : x) v = scale * rng.normal();
  return x;
}

inline hedgerow::GaussianWishart gaussian(hedgerow::Rng& rng, int n, int d) {
  std::vector<double> x = normals(rng, n * d, 3.0), mean(d, 0.0), psi(d * d, 0.0);
  for (int i = 0; i < d; ++i) psi[i * d + i] = 1.0;
  return hedgerow::GaussianWishart(x.data(), n, d, mean.data(), 0.1, d + 6.0, psi.data());
}
