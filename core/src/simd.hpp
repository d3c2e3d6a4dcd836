// The hot loops, as function pointers chosen once for this machine.
//
// Panels are blocked structure-of-arrays: block b of 8 clusters stores field f at panel[(b * fields + f) * 8 + lane].
#pragma once

#include <cstdint>

namespace hedgerow {

inline constexpr int kLanes = 8, kTile = 32, kVoxels = 8;

// Dirichlet counts raised to a power ζ: β, ζ, and Γ(β + ζ(c + 1)) / Γ(β + ζc) by c as far as a tile's counts and 16 more go (null
// where no table goes that far), each with at most so many decimal digits before or after the point.
struct Powered {
  double beta, power;
  const double* factors;
  double digits;
};

struct Simd {
  const char* name;
  // Gaussian–Wishart: out = c0 − e·log(1 + g·(x−m)ᵀP(x−m)). Fields: m[d], P[d(d+1)/2] (off-diagonals doubled), g, e, c0.
  void (*gw_predictive)(const double* panel, int blocks, int d, const double* x, double* out);
  // The same of a row of which `seen` columns, in order, are there, and of the other entries' integral: out = c0 − h − (e − ½·gone)·log(1 +
  // g·q) − ½ log|M|, h one of a lane, M = P at the columns that are gone, q the square where it is least. `work` holds d + d(d+1)/2 vectors of 8.
  void (*gw_observed)(const double* panel, int blocks, int d, const double* x, const int* seen, const int* gone, int gone_count,
                      const double* h, double* work, double* out);
  // log|I + S_a + S_b + w1 δδᵀ + w2 m mᵀ| for every lane b. Fields: n, mean[d], S[d(d+1)/2].
  void (*gw_merged_logdet)(const double* panel, int blocks, int d, double r, const double* a, double* work, double* out);
  // Packed symmetric A: v = Az and zᵀAz; zᵀAz alone, not below 0; A += w zzᵀ.
  double (*packed_product)(const double* a, int d, const double* z, double* v);
  double (*packed_quadratic)(const double* a, int d, const double* z);
  void (*packed_rank_one)(double* a, int d, const double* z, double w);
  // The lower triangle of a square, in rows a multiple of 8 apart, += Σ zzᵀ over eight z, as far apart.
  void (*add_outer)(double* square, int d, const double* z);
  // square = I + A + B + wu uuᵀ + wv vvᵀ, its lower triangle in rows a multiple of 8 apart.
  void (*scale_matrix)(double* square, int d, const double* a, const double* b, const double* u, double wu, const double* v, double wv);
  // Its factor in place, A = LᵀL; returns log|A|, or NaN when it is not positive definite.
  double (*factor_square)(double* square, int d);
  // A⁻¹ packed, from that factor; `work` is a square too.
  void (*invert_square)(const double* factor, int d, double* work, double* packed);
  // Diagonal Gaussian: out = Σ_j c_j − e_j·log(1 + g_j (x_j−m_j)²) over observed columns. Fields: m[d], g[d], e[d], c[d].
  void (*gd_predictive)(const double* panel, int blocks, int d, const double* x, const int* observed, int count, double* out);
  // The same when e does not depend on the column: logs of products. Fields as above; c[0] holds the sum of the constants.
  void (*gd_predictive_even)(const double* panel, int blocks, int d, const double* x, double* out);
  // Counts of a tile of kTile clusters, word by word: out[j] = Σ over cells (word, n) of lnΓ(beta + c_j + n) − lnΓ(beta + c_j), j < lanes
  // (a multiple of 8). A cell's factors beta + c_j + i have `digits_each` decimal digits at most, and the first may have `digits_cell` zeros
  // after the point. In 16 bits and in 32.
  void (*rise_small)(const std::uint16_t* tile, const std::int32_t* cells, int count, int lanes, double beta, double digits_each,
                     double digits_cell, double* out);
  void (*rise_large)(const std::int32_t* tile, const std::int32_t* cells, int count, int lanes, double beta, double digits_each,
                     double digits_cell, double* out);
  // out[j] += constant − lnΓ(mass[j] + count) + lnΓ(mass[j]), j < k (k padded to a multiple of 8), count whole.
  void (*subtract_rising)(const double* mass, int k, double count, double constant, double* out);
  // The same three with counts worth ζ: lnΓ(beta + ζ(c_j + n)) − lnΓ(beta + ζc_j), and lnΓ(mass[j] + h) − lnΓ(mass[j]) for any h >= 0.
  void (*rise_power_small)(const std::uint16_t* tile, const std::int32_t* cells, int count, int lanes, const Powered& how, double* out);
  void (*rise_power_large)(const std::int32_t* tile, const std::int32_t* cells, int count, int lanes, const Powered& how, double* out);
  void (*subtract_rising_power)(const double* mass, int k, double h, double constant, double* out);
  // out = Σ_{i<count} panel field list[i].
  void (*field_sums)(const double* panel, int blocks, int fields, const int* list, int count, double* out);
  // Counts x > 0 in the given columns: out = constant + Σ fields of `list` + Σ lnΓ(A + x) − lnΓ(A) − x·q. Fields: A[d], q[d], then
  // d + 1 that only `list` names. No factor A + i needs more than `bits` bits of exponent.
  void (*poisson_predictive)(const double* panel, int blocks, int d, const int* list, int listed, const int* columns,
                             const double* counts, int count, int bits, double constant, double* out);
  // The same with counts worth ζ: lnΓ(A + ζx) − lnΓ(A) − ζx·q.
  void (*poisson_predictive_power)(const double* panel, int blocks, int d, const int* list, int listed, const int* columns,
                                   const double* counts, int count, double power, double constant, double* out);
  // x[j] = exp(x[j] − max); returns the sum. k need not be padded.
  double (*softmax)(double* x, int k);
  // out[j] += log(scale[j] · Σ_r weight[r·stride + j]·b[r]).
  void (*mixed_weights)(const double* weight, const double* scale, int k, int stride, int R, const double* b, double* out);
  double (*dot)(const double* a, const double* b, int n);
  // log Σ_r exp(front[r] − m·base[r] + a[r] + sign·b[r]); `work` has room for R.
  double (*log_mixture)(const double* front, const double* base, double m, const double* a, const double* b, double sign, int R,
                        double* work);
  // Σ_r n[r]·log(y) + a[r]·ψ(log y + shift), y = rest[r] + q[r]·x + add, k a multiple of 8. With e = σ·l, ψ(l) is l at σ = 0, else
  // scale·expm1(e), or scale·exp(e) if `whole`.
  double (*mixed_exponents)(const double* rest, const double* q, const double* n, const double* a, int k, double x, double add,
                            double shift, double sigma, double scale, bool whole);
  // Voxels of a row, `blocks` times kVoxels of them, whose colours are in three planes `plane` apart, against a centre: the squared
  // distance apart + near·(dx + i)² + |colours apart|² of voxel i; where it is below best[i] it goes there, and k to labels[i].
  void (*nearest_voxels)(const float* colours, int plane, int blocks, float dx, float near, float apart, const float* centre, int k,
                         float* best, std::int32_t* labels);
  // Rows of a window, `room` of them (a multiple of 8), column by column, each counting w: their number, mean and scatter, packed.
  double (*window_moments)(const double* x, int room, int d, const double* w, double* mean, double* scatter);
  // out = constant − ½|G(x − mean)|² of each, G a packed lower triangle.
  void (*window_densities)(const double* x, int room, int d, const double* mean, const double* g, double constant, double* out);
  // Of k logs a row, cluster by cluster: shares of their sum, and its log.
  void (*window_shares)(const double* log_density, int room, int k, double* share, double* log_total);
  // out[j] += log x[j], not below log 1e-300; k a multiple of 8.
  void (*add_logs)(const double* x, int k, double* out);
};

const Simd& simd();                        // the best for this machine; HEDGEROW_ISA=baseline|avx2|avx512 overrides
const Simd* simd_named(const char* name);  // nullptr when this machine lacks it

}  // namespace hedgerow
