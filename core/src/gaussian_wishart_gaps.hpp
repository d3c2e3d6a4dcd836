// Rows with missing entries against a Gaussian cluster. Included by gaussian_wishart_statistics.hpp.
//
// The predictive of a whole row y is (1 + ρ(y − m_n)ᵀP(y − m_n))^−E/2 with E = ν + ζ(n + 1), a multivariate t. With y = y_0 + As over the missing columns, A
// their axes, the square is least at s = −M⁻¹b with M = AᵀPA, b = AᵀP(y_0 − m_n), and q = (y_0 − m_n)ᵀP(y_0 − m_n) − bᵀM⁻¹b there.
// So the other entries have a t again, and s given them one about −M⁻¹b with the precision M·ρ/(1 + ρq). Given an atom, P is Λ, both are
// normal, and s has the precision M.
#pragma once

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {

template <int D>
struct GaussianWishartStatistics<D>::Gaps {
  std::vector<double> root;  // packed L with LLᵀ = M
  std::vector<double> w;     // L⁻¹b
  double q, log_det;         // log|M|

  // From M and b, and q of the row as it came.
  void solve() {
    const int count = static_cast<int>(w.size());
    log_det = packed::cholesky(root.data(), count);
    for (int a = 0; a < count; ++a) {
      const double* l = root.data() + packed::size(a);
      for (int b = 0; b < a; ++b) w[a] -= l[b] * w[b];
      w[a] /= l[a];
      q -= w[a] * w[a];
    }
    q = std::max(q, 0.0);
  }

  // s = L⁻ᵀ(step − w).
  std::vector<double> place(std::vector<double> s) const {
    const int count = static_cast<int>(w.size());
    for (int a = count - 1; a >= 0; --a) {
      s[a] -= w[a];
      for (int b = a + 1; b < count; ++b) s[a] -= root[packed::size(b) + a] * s[b];
      s[a] /= root[packed::size(a) + a];
    }
    return s;
  }

  // Log density of s where it is highest, with `all` = E.
  double log_height(double rho, double all) const {
    const double count = static_cast<double>(w.size());
    return lgamma(0.5 * all) - lgamma(0.5 * (all - count)) + 0.5 * (count * (std::log(rho) - std::log1p(rho * q) - kLogPi) + log_det);
  }
};

// What the density of so many entries of a row has of every cluster but for its P: lnΓ(E/2) − lnΓ((E − count)/2) + ½ count·log(ρ/π), and the
// E/2 that it belongs to.
template <int D>
struct GaussianWishartStatistics<D>::Heights {
  AlignedVector<double> half, value;
};

template <int D>
typename GaussianWishartStatistics<D>::Gaps GaussianWishartStatistics<D>::look(int row, int slot) {
  need_inverse(slot);
  const Record p = record(slot);
  const std::vector<int>& columns = f_.missing(row);
  const int count = static_cast<int>(columns.size());
  const double shrink = p.n() / (f_.r() + p.n());
  const double* y = f_.as_it_came(row);
  Vector z(*this, 0), v(*this, 1);
  for (int i = 0; i < d(); ++i) z[i] = y[i] - shrink * p.mean()[i];
  Gaps out{std::vector<double>(packed::size(count)), std::vector<double>(count), packed::product<D>(p.inverse(), d(), z, v), 0.0};
  if (f_.upright()) {  // an axis has one entry, so that M is P at the missing columns, scaled
    for (int a = 0; a < count; ++a) {
      const int i = columns[a];
      const double scale = f_.axis(i)[i], *inverse = p.inverse() + packed::size(i);
      out.w[a] = scale * v[i];
      for (int b = 0; b <= a; ++b) out.root[packed::size(a) + b] = f_.axis(columns[b])[columns[b]] * (inverse[columns[b]] * scale);
    }
  } else {
    for (int a = 0; a < count; ++a)
      for (int i = columns[a]; i < d(); ++i) out.w[a] += f_.axis(columns[a])[i] * v[i];
    for (int a = 0; a < count; ++a) {
      packed::product<D>(p.inverse(), d(), f_.axis(columns[a]), v);
      for (int b = 0; b <= a; ++b)
        for (int i = columns[b]; i < d(); ++i) out.root[packed::size(a) + b] += f_.axis(columns[b])[i] * v[i];
    }
  }
  out.solve();
  return out;
}

template <int D>
typename GaussianWishartStatistics<D>::Gaps GaussianWishartStatistics<D>::look_at(int row, const double* atom) const {
  const std::vector<int>& columns = f_.missing(row);
  const int count = static_cast<int>(columns.size());
  const double *y = f_.as_it_came(row), *mean = atom + 1, *m = mean + d();
  Gaps out{std::vector<double>(packed::size(count)), std::vector<double>(count), 0.0, 0.0};
  std::vector<double> moved(count);  // Mᵀ times the axes, one row of Mᵀ at a time
  for (int k = 0; k < d(); ++k, m += d()) {
    double z = 0.0;
    for (int i = 0; i < d(); ++i) z += m[i] * (y[i] - mean[i]);
    out.q += z * z;
    for (int a = 0; a < count; ++a) {
      moved[a] = 0.0;
      for (int i = columns[a]; i < d(); ++i) moved[a] += m[i] * f_.axis(columns[a])[i];
      out.w[a] += moved[a] * z;
      for (int b = 0; b <= a; ++b) out.root[packed::size(a) + b] += moved[a] * moved[b];
    }
  }
  out.solve();
  return out;
}

template <int D>
double GaussianWishartStatistics<D>::log_observed_density(int row, const double* atom) {
  if (!f_.has_gaps(row)) return log_density(row, atom);
  const Gaps gaps = look_at(row, atom);
  return atom[0] - 0.5 * gaps.q + 0.5 * (static_cast<double>(gaps.w.size()) * kLog2Pi - gaps.log_det);
}

template <int D>
void GaussianWishartStatistics<D>::impute_given(int row, const double* atom, Rng& rng) {
  if (!f_.has_gaps(row)) return;
  const Gaps gaps = look_at(row, atom);
  std::vector<double> step(gaps.w.size());
  for (double& e : step) e = rng.normal();
  f_.fill(row, gaps.place(step));
}

template <int D>
double GaussianWishartStatistics<D>::log_observed(int row, int slot) {
  if (!f_.has_gaps(row)) return log_predictive(row, slot);
  const Gaps gaps = look(row, slot);
  const double n = record(slot).n(), rho = (f_.r() + n) / (f_.r() + n + 1.0), all = f_.freedom(n) + f_.power();
  return f_.predictive_constant(static_cast<int>(n)) - 0.5 * f_.power() * record(slot).logdet() - 0.5 * all * std::log1p(rho * gaps.q) -
         gaps.log_height(rho, all);
}

// The numbers of rows change here and there from one call to the next.
template <int D>
const double* GaussianWishartStatistics<D>::heights(int missing, int k) {
  if (static_cast<int>(heights_.size()) <= missing) heights_.resize(missing + 1);
  Heights& known = heights_[missing];
  if (static_cast<int>(known.half.size()) < padded(k)) {
    known.half.resize(2 * padded(k), -1.0);
    known.value.resize(2 * padded(k), 0.0);
  }
  const int halves = d() + t() + 1;  // their field in the panel
  for (int b = 0; b * kLanes < k; ++b) {
    const double* half = predictive_panel_.data() + (static_cast<std::size_t>(b) * predictive_fields() + halves) * kLanes;
    double* held = known.half.data() + b * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (held[lane] == half[lane]) continue;
      held[lane] = half[lane];
      const double rho = half[lane - kLanes], count = missing;
      if (half[lane] > 0.0)
        known.value[b * kLanes + lane] = lgamma(half[lane]) - lgamma(half[lane] - 0.5 * count) + 0.5 * count * (std::log(rho) - kLogPi);
    }
  }
  return known.value.data();
}

// Of every cluster at once, where an axis has one entry: P at the columns that are there and at those that are missing is then read off.
template <int D>
void GaussianWishartStatistics<D>::log_observed_front(int row, int k, double* out) {
  if (!f_.has_gaps(row)) return front_predictive(f_.row(row), k, out);
  if (!f_.upright()) {
    for (int c = 0; c < k; ++c) out[c] = log_observed(row, c);
    return;
  }
  bring_predictive();
  const std::vector<int>& gone = f_.missing(row);
  const int missing = static_cast<int>(gone.size());
  seen_.clear();
  for (int j = 0, a = 0; j < d(); ++j)
    if (a < missing && gone[a] == j)
      ++a;
    else
      seen_.push_back(j);
  gap_work_.resize(static_cast<std::size_t>(d() + t()) * kLanes);
  simd().gw_observed(predictive_panel_.data(), padded(k) / kLanes, d(), f_.as_it_came(row), seen_.data(), gone.data(), missing,
                     heights(missing, k), gap_work_.data(), out);
  double shift = 0.0;  // of log|M|, halved: the axes' lengths
  for (int j : gone) shift += std::log(f_.axis(j)[j]);
  for (int c = 0; c < k; ++c) out[c] -= shift;
}

template <int D>
double GaussianWishartStatistics<D>::impute(int row, int slot, Rng& rng, bool whole) {
  if (!f_.has_gaps(row)) return 0.0;
  const Gaps gaps = look(row, slot);
  const int count = static_cast<int>(gaps.w.size());
  const double n = record(slot).n(), rho = (f_.r() + n) / (f_.r() + n + 1.0);
  const double all = whole ? f_.freedom(0.0) + n + 1.0 : f_.freedom(n) + f_.power();
  const double chi_square = 2.0 * std::exp(rng.log_gamma_variate(0.5 * (all - count)));
  const double spread = std::sqrt((1.0 + rho * gaps.q) / (rho * chi_square));
  std::vector<double> s(count);
  double squares = 0.0;
  for (int a = 0; a < count; ++a) {
    const double step = spread * rng.normal();
    squares += step * step;
    s[a] = step;
  }
  f_.fill(row, gaps.place(std::move(s)));
  return gaps.log_height(rho, all) - 0.5 * all * std::log1p(rho * squares / (1.0 + rho * gaps.q));
}

// Of one row at power 1, r and P are those of the base measure: what was divided by the power is multiplied again.
template <int D>
double GaussianWishartStatistics<D>::log_tilt(int row, int empty) {
  const double power = f_.power();
  if (power == 1.0 || !f_.has_gaps(row)) return 0.0;
  Gaps gaps = look(row, empty);
  gaps.q /= power;
  gaps.log_det -= static_cast<double>(gaps.w.size()) * std::log(power);
  const double rho = power * f_.r() / (power * f_.r() + 1.0), all = f_.freedom(0.0) + 1.0;
  const double farther = std::log1p(rho * square(f_.row(row)) / power) - std::log1p(rho * gaps.q);
  return (1.0 - power) * (gaps.log_height(rho, all) - 0.5 * all * farther);
}

}  // namespace hedgerow
