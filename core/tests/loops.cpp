// The hot loops of every instruction set that this machine has, against plain code over libm.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/counting.hpp"
#include "hedgerow/rng.hpp"
#include "hedgerow/special.hpp"
#include "larger.hpp"
#include "simd.hpp"
#include "testing.hpp"

using namespace hedgerow;

namespace {

double relative(double found, double right) { return std::abs(found - right) / (1.0 + std::abs(right)); }

// lnΓ(a + h) − lnΓ(a) by the C library.
double rising(double a, double h) {
  return static_cast<double>(std::lgamma(static_cast<long double>(a) + h) - std::lgamma(static_cast<long double>(a)));
}

// Blocks of lanes filled one field after the other by `value(field)`.
template <class Value>
AlignedVector<double> panel_of(int blocks, int fields, const Value& value) {
  AlignedVector<double> out(static_cast<std::size_t>(blocks) * fields * kLanes);
  for (int b = 0; b < blocks; ++b)
    for (int f = 0; f < fields; ++f)
      for (int lane = 0; lane < kLanes; ++lane) out[(static_cast<std::size_t>(b) * fields + f) * kLanes + lane] = value(f);
  return out;
}

// Field f of cluster k.
double at(const AlignedVector<double>& panel, int fields, int f, int k) {
  return panel[(static_cast<std::size_t>(k / kLanes) * fields + f) * kLanes + k % kLanes];
}

double gaussian_predictive(const Simd& loops, Rng& rng, int d) {
  const int blocks = 3, t = d * (d + 1) / 2, fields = d + t + 3;
  const auto panel = panel_of(blocks, fields, [&](int f) { return f < d ? rng.normal() : rng.uniform(); });
  std::vector<double> x(d);
  for (double& v : x) v = 2.0 * rng.normal();
  AlignedVector<double> out(blocks * kLanes);
  loops.gw_predictive(panel.data(), blocks, d, x.data(), out.data());
  double worst = 0.0;
  for (int k = 0; k < blocks * kLanes; ++k) {
    double q = 0.0;
    for (int i = 0, f = d; i < d; ++i)
      for (int j = 0; j <= i; ++j, ++f)
        q += at(panel, fields, f, k) * (x[i] - at(panel, fields, i, k)) * (x[j] - at(panel, fields, j, k));
    const double g = at(panel, fields, d + t, k), e = at(panel, fields, d + t + 1, k), c = at(panel, fields, d + t + 2, k);
    worst = larger(worst, relative(out[k], c - e * std::log1p(g * std::max(q, 0.0))));
  }
  return worst;
}

double log_determinant(std::vector<double> a, int d) {  // by elimination, of a full positive definite matrix
  double total = 0.0;
  for (int k = 0; k < d; ++k) {
    total += std::log(a[k * d + k]);
    for (int i = k + 1; i < d; ++i)
      for (int j = d - 1; j >= k; --j) a[i * d + j] -= a[i * d + k] / a[k * d + k] * a[k * d + j];
  }
  return total;
}

double gaussian_merged(const Simd& loops, Rng& rng, int d) {
  const int blocks = 2, t = d * (d + 1) / 2, fields = 1 + d + t;
  const double r = 0.3;
  auto diagonal = [](int f) {  // whether entry f of a packed triangle is on the diagonal
    int i = 0;
    while ((i + 1) * (i + 2) / 2 <= f) ++i;
    return f == i * (i + 3) / 2;
  };
  auto value = [&](int f) {
    if (f == 0) return 1.0 + rng.index(9);
    if (f <= d) return rng.normal();
    return diagonal(f - 1 - d) ? d + rng.uniform() : 0.5 * rng.normal();
  };
  const auto panel = panel_of(blocks, fields, value);
  std::vector<double> a(fields);
  for (int f = 0; f < fields; ++f) a[f] = value(f);
  AlignedVector<double> work(static_cast<std::size_t>(2 * d + t) * 8), out(blocks * kLanes);
  loops.gw_merged_logdet(panel.data(), blocks, d, r, a.data(), work.data(), out.data());
  double worst = 0.0;
  std::vector<double> matrix(d * d);
  for (int k = 0; k < blocks * kLanes; ++k) {
    const double na = a[0], nb = at(panel, fields, 0, k), n = na + nb;
    auto ma = [&](int i) { return a[1 + i]; };
    auto mb = [&](int i) { return at(panel, fields, 1 + i, k); };
    auto mean = [&](int i) { return (na * ma(i) + nb * mb(i)) / n; };
    for (int i = 0, f = 1 + d; i < d; ++i)
      for (int j = 0; j <= i; ++j, ++f)
        matrix[i * d + j] = matrix[j * d + i] = (i == j) + a[f] + at(panel, fields, f, k) +
                                                na * nb / n * (mb(i) - ma(i)) * (mb(j) - ma(j)) + r * n / (n + r) * mean(i) * mean(j);
    worst = larger(worst, relative(out[k], log_determinant(matrix, d)));
  }
  return worst;
}

// One matrix of many columns: I + A + B + wu uuᵀ + wv vvᵀ, its determinant and inverse; products and sums of packed triangles.
double one_matrix(const Simd& loops, Rng& rng, int d) {
  const int t = d * (d + 1) / 2, stride = (d + 7) / 8 * 8;
  const double wu = 0.7, wv = 1.3;
  std::vector<double> a(t), b(t), u(d), v(d), product(d), full(d * d);
  for (int i = 0, f = 0; i < d; ++i) {
    u[i] = rng.normal();
    v[i] = rng.normal();
    for (int j = 0; j <= i; ++j, ++f) {
      a[f] = i == j ? d + rng.uniform() : 0.3 * rng.normal();
      b[f] = i == j ? rng.uniform() : 0.1 * rng.normal();
    }
  }
  for (int i = 0, f = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j, ++f) full[i * d + j] = full[j * d + i] = (i == j) + a[f] + b[f] + wu * u[i] * u[j] + wv * v[i] * v[j];
  AlignedVector<double> square(static_cast<std::size_t>(stride) * stride), work(square.size());
  loops.scale_matrix(square.data(), d, a.data(), b.data(), u.data(), wu, v.data(), wv);
  double worst = 0.0;
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) worst = larger(worst, relative(square[static_cast<std::size_t>(i) * stride + j], full[i * d + j]));
  worst = larger(worst, relative(loops.factor_square(square.data(), d), log_determinant(full, d)));
  std::vector<double> inverse(t);
  loops.invert_square(square.data(), d, work.data(), inverse.data());
  auto entry = [](const std::vector<double>& packed, int i, int j) {
    return i >= j ? packed[i * (i + 1) / 2 + j] : packed[j * (j + 1) / 2 + i];
  };
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < d; ++j) {
      double sum = 0.0;
      for (int k = 0; k < d; ++k) sum += full[i * d + k] * entry(inverse, k, j);
      worst = larger(worst, std::abs(sum - (i == j)));
    }
  double quadratic = 0.0;
  const double found = loops.packed_product(a.data(), d, u.data(), product.data());
  for (int i = 0; i < d; ++i) {
    double sum = 0.0;
    for (int j = 0; j < d; ++j) sum += entry(a, i, j) * u[j];
    worst = larger(worst, relative(product[i], sum));
    quadratic += sum * u[i];
  }
  worst = larger(worst, relative(found, quadratic), relative(loops.packed_quadratic(a.data(), d, u.data()), quadratic));
  std::vector<double> changed = a;
  loops.packed_rank_one(changed.data(), d, v.data(), -0.4);
  for (int i = 0, f = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j, ++f) worst = larger(worst, relative(changed[f], a[f] - 0.4 * v[i] * v[j]));
  square[static_cast<std::size_t>(d - 1) * stride + d - 1] = -1.0;
  return std::isnan(loops.factor_square(square.data(), d)) ? worst : kInf;
}

double diagonal_predictive(const Simd& loops, Rng& rng, int d) {
  const int blocks = 3, fields = 4 * d;
  const auto panel = panel_of(blocks, fields, [&](int f) { return f < d || f >= 3 * d ? rng.normal() : rng.uniform(); });
  std::vector<double> x(d);
  for (double& v : x) v = 3.0 * rng.normal();
  std::vector<int> observed;
  for (int j = 0; j < d; ++j)
    if (rng.uniform() < 0.7) observed.push_back(j);
  AlignedVector<double> out(blocks * kLanes), even(blocks * kLanes);
  loops.gd_predictive(panel.data(), blocks, d, x.data(), observed.data(), static_cast<int>(observed.size()), out.data());
  loops.gd_predictive_even(panel.data(), blocks, d, x.data(), even.data());
  double worst = 0.0;
  for (int k = 0; k < blocks * kLanes; ++k) {
    auto log_of = [&](int j) {
      const double z = x[j] - at(panel, fields, j, k);
      return std::log1p(at(panel, fields, d + j, k) * z * z);
    };
    double right = 0.0, logs = 0.0;
    for (int j : observed) right += at(panel, fields, 3 * d + j, k) - at(panel, fields, 2 * d + j, k) * log_of(j);
    for (int j = 0; j < d; ++j) logs += log_of(j);
    worst = larger(worst, relative(out[k], right));
    worst = larger(worst, relative(even[k], at(panel, fields, 3 * d, k) - at(panel, fields, 2 * d, k) * logs));
  }
  return worst;
}

double sums_of_fields(const Simd& loops, Rng& rng, int count) {
  const int blocks = 3, fields = 29;
  const auto panel = panel_of(blocks, fields, [&](int) { return rng.normal(); });
  std::vector<int> list(count);
  for (int& f : list) f = rng.index(fields);
  AlignedVector<double> out(blocks * kLanes);
  loops.field_sums(panel.data(), blocks, fields, list.data(), count, out.data());
  double worst = 0.0;
  for (int k = 0; k < blocks * kLanes; ++k) {
    double right = 0.0;
    for (int f : list) right += at(panel, fields, f, k);
    worst = larger(worst, relative(out[k], right));
  }
  return worst;
}

double poisson_predictive(const Simd& loops, Rng& rng, int d) {
  const int blocks = 2, fields = 3 * d + 1, bits = 12;
  const auto panel = panel_of(blocks, fields, [&](int f) { return f < d ? 0.1 + 1000.0 * rng.uniform() : rng.uniform(); });
  std::vector<int> list, columns;
  std::vector<double> counts;
  for (int j = 0; j < d; ++j) {
    if (j % 3 == 0) list.push_back(2 * d + j);
    if (j % 4 == 3) continue;
    columns.push_back(j);
    counts.push_back(j % 2 ? 1 + rng.index(16) : 17 + rng.index(2000));
  }
  AlignedVector<double> out(blocks * kLanes);
  loops.poisson_predictive(panel.data(), blocks, d, list.data(), static_cast<int>(list.size()), columns.data(), counts.data(),
                           static_cast<int>(columns.size()), bits, 0.7, out.data());
  double worst = 0.0;
  for (int k = 0; k < blocks * kLanes; ++k) {
    double right = 0.7;
    for (int f : list) right += at(panel, fields, f, k);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double a = at(panel, fields, columns[i], k);
      right += log_rising(a, counts[i]) - counts[i] * at(panel, fields, d + columns[i], k);
    }
    worst = larger(worst, relative(out[k], right));
  }
  for (const double power : {0.3, 0.01}) {
    loops.poisson_predictive_power(panel.data(), blocks, d, list.data(), static_cast<int>(list.size()), columns.data(), counts.data(),
                                   static_cast<int>(columns.size()), power, 0.7, out.data());
    for (int k = 0; k < blocks * kLanes; ++k) {
      double right = 0.7;
      for (int f : list) right += at(panel, fields, f, k);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const double x = power * counts[i];
        right += rising(at(panel, fields, columns[i], k), x) - x * at(panel, fields, d + columns[i], k);
      }
      worst = larger(worst, relative(out[k], right));
    }
  }
  return worst;
}

double weights_of_bases(const Simd& loops, Rng& rng, int k, int R) {
  const int stride = (k + 2 * kLanes - 1) / kLanes * kLanes;
  AlignedVector<double> weight(static_cast<std::size_t>(stride) * R), scale(stride, 1.0), out(stride, 0.25);
  for (double& w : weight) w = std::exp(-30.0 * rng.uniform());
  for (double& s : scale) s = 1.0 + rng.index(50);
  std::vector<double> b(R);
  for (double& v : b) v = rng.uniform();
  loops.mixed_weights(weight.data(), scale.data(), k, stride, R, b.data(), out.data());
  double worst = 0.0;
  for (int j = 0; j < k; ++j) {
    double sum = 0.0;
    for (int r = 0; r < R; ++r) sum += weight[static_cast<std::size_t>(r) * stride + j] * b[r];
    worst = larger(worst, relative(out[j], 0.25 + std::log(scale[j] * sum)));
  }
  return worst;
}

// The sums of lnΓ that rows of counts are scored with, whatever the width of the counts and the number of factors multiplied.
double rising_counts(const Simd& loops, Rng& rng) {
  constexpr int kColumns = 50, kCells = 40;
  std::vector<std::uint16_t> small(kColumns * kTile);
  for (auto& n : small) n = static_cast<std::uint16_t>(rng.index(4) ? rng.index(5) : rng.index(60000));
  const std::vector<std::int32_t> large(small.begin(), small.end());
  std::vector<std::int32_t> cells;
  double tokens = 0.0;
  for (int w = 0; w < kCells; ++w) {
    cells.insert(cells.end(), {w, rng.index(8) ? 1 + rng.index(20) : 1 + rng.index(3000)});
    tokens += cells.back();
  }
  double worst = 0.0;
  for (const double beta : {0.1, 30.0})
    for (const int lanes : {8, 16, 24, 32})
      for (const double digits : {5.0, 18.0}) {
        std::vector<double> a(kTile, 0.0), b(kTile, 0.0), mass(kTile);
        loops.rise_small(small.data(), cells.data(), kCells, lanes, beta, digits, 1.0, a.data());
        loops.rise_large(large.data(), cells.data(), kCells, lanes, beta, digits, 1.0, b.data());
        for (int j = 0; j < lanes; ++j) {
          mass[j] = beta * (1 + j);
          double sum = 0.0;
          for (int i = 0; i < kCells; ++i) sum += log_rising(beta + large[cells[2 * i] * kTile + j], cells[2 * i + 1]);
          worst = larger(worst, std::abs(a[j] - sum) / std::abs(sum), std::abs(a[j] - b[j]));
        }
        for (const double count : {0.0, 1.0, 16.0, 17.0, tokens}) {
          std::fill(a.begin(), a.end(), 0.0);
          loops.subtract_rising(mass.data(), lanes, count, 2.0, a.data());
          for (int j = 0; j < lanes; ++j) worst = larger(worst, relative(a[j], 2.0 - log_rising(mass[j], count)));
        }
      }
  return worst;
}

// The same for counts worth a part of one, with the factors looked up and without.
double rising_powers(const Simd& loops, Rng& rng) {
  constexpr int kColumns = 50, kCells = 40, kMost = 400;
  std::vector<std::uint16_t> small(kColumns * kTile);
  for (auto& n : small) n = static_cast<std::uint16_t>(rng.index(4) ? rng.index(5) : rng.index(kMost));
  const std::vector<std::int32_t> large(small.begin(), small.end());
  std::vector<std::int32_t> cells;
  for (int w = 0; w < kCells; ++w) cells.insert(cells.end(), {w, rng.index(8) ? 1 + rng.index(20) : 1 + rng.index(3000)});
  double worst = 0.0;
  for (const double beta : {1e-8, 0.1, 30.0})
    for (const double power : {0.7, 0.05}) {
      std::vector<double> factors;
      for (int c = 0; c < kMost + 17; ++c) factors.push_back(std::exp(rising(beta + power * c, power)));
      const double digits = larger(std::abs(std::log10(factors.front())), std::abs(std::log10(factors.back())));
      for (const double* table : {static_cast<const double*>(factors.data()), static_cast<const double*>(nullptr)})
        for (const int lanes : {8, 24, 32}) {
          std::vector<double> a(kTile, 0.0), b(kTile, 0.0), mass(kTile), c(kTile, 0.0);
          const Powered how{beta, power, table, digits};
          loops.rise_power_small(small.data(), cells.data(), kCells, lanes, how, a.data());
          loops.rise_power_large(large.data(), cells.data(), kCells, lanes, how, b.data());
          for (int j = 0; j < lanes; ++j) mass[j] = beta * (1 + j);
          loops.subtract_rising_power(mass.data(), lanes, 17.3 * power, 2.0, c.data());
          for (int j = 0; j < lanes; ++j) {
            double sum = 0.0, size = 0.0;
            for (int i = 0; i < kCells; ++i) {
              const double term = rising(beta + power * large[cells[2 * i] * kTile + j], power * cells[2 * i + 1]);
              sum += term;
              size += std::abs(term);
            }
            worst = larger(worst, std::abs(a[j] - sum) / size, std::abs(a[j] - b[j]));
            worst = larger(worst, relative(c[j], 2.0 - rising(mass[j], 17.3 * power)));
          }
        }
    }
  return worst;
}

double softmax(const Simd& loops, Rng& rng, int k) {
  std::vector<double> x(k + kLanes), y;
  for (double& v : x) v = 100.0 * rng.normal();
  y = x;
  const double total = loops.softmax(y.data(), k), top = *std::max_element(x.begin(), x.begin() + k);
  double sum = 0.0, worst = 0.0;
  for (int i = 0; i < k; ++i) {
    const double e = x[i] - top < -700.0 ? 0.0 : std::exp(x[i] - top);
    sum += e;
    worst = larger(worst, std::abs(y[i] - e) / (e + 1e-300));
  }
  return larger(worst, std::abs(total - sum) / sum);
}

// Voxels against two centres, the second nearer to some of them.
double voxels(const Simd& loops, Rng& rng, int blocks) {
  const int n = blocks * kVoxels, plane = n + 3;
  std::vector<float> colours(3 * plane), best(n, 1e30f);
  std::vector<std::int32_t> labels(n, -1);
  for (float& c : colours) c = static_cast<float>(rng.normal());
  double worst = 0.0;
  for (int k = 0; k < 2; ++k) {
    const float centre[3] = {0.3f, -0.2f * static_cast<float>(k), 0.1f}, dx = -1.5f - static_cast<float>(3 * k);
    const std::vector<float> before = best;
    const std::vector<std::int32_t> owners = labels;
    loops.nearest_voxels(colours.data(), plane, blocks, dx, 0.02f, 0.7f, centre, k, best.data(), labels.data());
    for (int i = 0; i < n; ++i) {
      double apart = 0.7 + 0.02 * (dx + i) * (dx + i);
      for (int c = 0; c < 3; ++c) apart += std::pow(static_cast<double>(colours[c * plane + i]) - centre[c], 2.0);
      worst = larger(worst, relative(best[i], std::min(apart, static_cast<double>(before[i]))) * 1e-7);
      if (std::abs(apart - before[i]) > 1e-4 && labels[i] != (apart < before[i] ? k : owners[i])) worst = 1.0;
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("hot loops of every instruction set") {
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const Simd* loops = simd_named(name);
    if (!loops) continue;
    Rng rng(1);
    const auto expect = [&](double worst, const char* what) { CHECK_MESSAGE(worst < 1e-12, what, ", ", name, ": ", worst); };
    for (const int d : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 64, 65, 130}) {
      expect(gaussian_predictive(*loops, rng, d), "Gaussian predictives");
      expect(gaussian_merged(*loops, rng, d), "determinants of merged clusters");
      expect(one_matrix(*loops, rng, d), "one matrix");
      expect(diagonal_predictive(*loops, rng, d), "diagonal predictives");
      expect(poisson_predictive(*loops, rng, d), "Poisson predictives");
      expect(sums_of_fields(*loops, rng, d), "sums of fields");
      for (const int R : {1, 2, 5}) expect(weights_of_bases(*loops, rng, d, R), "weights of basis measures");
      expect(softmax(*loops, rng, d), "softmax");
    }
    for (const int blocks : {1, 2, 5}) expect(voxels(*loops, rng, blocks), "voxels against centres");
    expect(rising_counts(*loops, rng), "sums of rising factorials");
    expect(rising_powers(*loops, rng), "sums of rising factorials at a power");
  }
}
