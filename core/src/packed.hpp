// Packed lower triangles of symmetric matrices: products, rank-one changes, Cholesky factors and inverses.
//
// D > 0 fixes the dimension at compile time, which is worth a factor of two on the small matrices of trees; D = 0 takes it from
// `d` and goes through the vector loops.
#pragma once

#include <cmath>

#include "simd.hpp"

namespace hedgerow::packed {

constexpr int size(int d) { return d * (d + 1) / 2; }

template <int D>
double trace(const double* a, int d) {
  if constexpr (D > 0) d = D;
  double sum = 0.0;
  for (int i = 0; i < d; ++i) sum += a[size(i) + i];
  return sum;
}

// v = A z, returns zᵀAz.
template <int D>
double product(const double* a, int d, const double* z, double* v) {
  if constexpr (D == 0) return simd().packed_product(a, d, z, v);
  d = D;
  for (int i = 0; i < d; ++i) v[i] = 0.0;
  for (int i = 0; i < d; ++i) {
    const double* row = a + size(i);
    double s = row[i] * z[i];
    for (int j = 0; j < i; ++j) {
      s += row[j] * z[j];
      v[j] += row[j] * z[i];
    }
    v[i] += s;
  }
  double q = 0.0;
  for (int i = 0; i < d; ++i) q += v[i] * z[i];
  return q;
}

// zᵀAz of a positive definite A.
template <int D>
double quadratic(const double* a, int d, const double* z) {
  if constexpr (D == 0) return simd().packed_quadratic(a, d, z);
  d = D;
  double q = 0.0;
  for (int i = 0; i < d; ++i) {
    const double* row = a + size(i);
    double s = 0.0;
    for (int j = 0; j < i; ++j) s += row[j] * z[j];
    q += z[i] * (2.0 * s + row[i] * z[i]);
  }
  return q > 0.0 ? q : 0.0;
}

// A += w zzᵀ.
template <int D>
void rank_one(double* a, int d, const double* z, double w) {
  if constexpr (D == 0) return simd().packed_rank_one(a, d, z, w);
  d = D;
  for (int i = 0; i < d; ++i) {
    const double wz = w * z[i];
    double* row = a + size(i);
    for (int j = 0; j <= i; ++j) row[j] += wz * z[j];
  }
}

// A = LLᵀ in place; returns log|A|, or NaN when A is not positive definite.
inline double cholesky(double* a, int d) {
  double logdet = 0.0;
  for (int i = 0; i < d; ++i) {
    double* row = a + size(i);
    for (int j = 0; j <= i; ++j) {
      const double* other = a + size(j);
      double s = row[j];
      for (int k = 0; k < j; ++k) s -= row[k] * other[k];
      if (j < i) {
        row[j] = s / other[j];
      } else {
        if (!(s > 0.0)) return std::nan("");
        row[i] = std::sqrt(s);
        logdet += 2.0 * std::log(row[i]);
      }
    }
  }
  return logdet;
}

// L⁻¹, a packed lower triangle like L.
inline void invert_triangle(const double* l, int d, double* out) {
  for (int i = 0; i < d; ++i) {
    const double* row = l + size(i);
    double* w = out + size(i);
    for (int j = 0; j < i; ++j) {
      double s = 0.0;
      for (int k = j; k < i; ++k) s -= row[k] * out[size(k) + j];
      w[j] = s / row[i];
    }
    w[i] = 1.0 / row[i];
  }
}

// (LLᵀ)⁻¹ from L; `work` holds a triangle.
inline void invert(const double* l, int d, double* out, double* work) {
  invert_triangle(l, d, work);
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) {
      double s = 0.0;
      for (int k = i; k < d; ++k) s += work[size(k) + i] * work[size(k) + j];
      out[size(i) + j] = s;
    }
}

}  // namespace hedgerow::packed
