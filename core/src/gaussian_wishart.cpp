// Sufficient statistics of Gaussian clusters: n, mean, scatter S, and P = Ψ_n⁻¹ with its log determinant kept by
// rank-one updates (Sherman–Morrison), refactored before rounding matters.
#include "hedgerow/likelihoods/gaussian_wishart.hpp"

#include <cstring>
#include <stdexcept>

#include "hedgerow/paged.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {

constexpr int kTableLimit = 1 << 20;
constexpr int kRefactorEvery = 256;
// Rounding in P, of the size of its trace, comes back in zᵀPz times |z|²: beyond this product P is made anew at once. It is met
// while a cluster has fewer rows than columns and the rows are far wider than Ψ.
constexpr double kWidest = 1e4;

// Cholesky of a packed lower triangle in place; returns log det, or NaN when not positive definite.
double cholesky(double* a, int d) {
  double logdet = 0.0;
  for (int i = 0; i < d; ++i) {
    double* row = a + i * (i + 1) / 2;
    for (int j = 0; j <= i; ++j) {
      const double* other = a + j * (j + 1) / 2;
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

// L⁻¹ of a packed lower triangle.
void invert_triangle(const double* l, int d, double* work) {
  for (int i = 0; i < d; ++i) {
    const double* row = l + i * (i + 1) / 2;
    double* w = work + i * (i + 1) / 2;
    for (int j = 0; j < i; ++j) {
      double s = 0.0;
      for (int k = j; k < i; ++k) s -= row[k] * work[k * (k + 1) / 2 + j];
      w[j] = s / row[i];
    }
    w[i] = 1.0 / row[i];
  }
}

// Inverse of LLᵀ from packed L, into packed lower triangle.
void invert(const double* l, int d, double* out, double* work) {
  invert_triangle(l, d, work);
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) {
      double s = 0.0;
      for (int k = i; k < d; ++k) s += work[k * (k + 1) / 2 + i] * work[k * (k + 1) / 2 + j];
      out[i * (i + 1) / 2 + j] = s;
    }
}

// D > 0 fixes the dimension at compile time, which is worth a factor of two on the small matrices of trees.
template <int D>
class GaussianWishartStatistics final : public Statistics {
 public:
  GaussianWishartStatistics(const GaussianWishart& family, Layout layout)
      : f_(family), dynamic_d_(family.dimension()), clusters_(layout == Layout::clusters) {
    scratch_.resize(static_cast<std::size_t>(4 * t() + 4 * d() + 16));
    merge_work_.resize(static_cast<std::size_t>(2 * d() + t()) * kLanes);
  }

  int slots() const override { return slots_; }

  void reserve(int slots) override {
    if (slots <= slots_) return;
    slots = std::max(slots, std::min(2 * slots_, slots_ + (1 << 20)));
    const int old = slots_;
    records_.resize(static_cast<std::size_t>(slots) * record_size());
    age_.resize(slots);
    slots_ = slots;
    if (clusters_) {
      const std::size_t blocks = padded(slots) / kLanes;
      predictive_panel_.resize(blocks * kLanes * predictive_fields());
      merge_panel_.resize(blocks * kLanes * merge_fields());
      stale_.resize(padded(slots), 0);
    }
    for (int s = old; s < slots; ++s) clear(s);
  }

  void clear(int slot) override {
    double* p = record(slot);
    std::memset(p, 0, sizeof(double) * record_size());
    double* inverse = p + 2 + d() + t();
    for (int i = 0; i < d(); ++i) inverse[i * (i + 1) / 2 + i] = 1.0;
    age_[slot] = 0;
    touch(slot);
  }

  void prefetch(int slot) const override {
    const double* p = records_.data() + static_cast<std::size_t>(slot) * record_size();
    for (int i = 0; i < record_size(); i += 8) __builtin_prefetch(p + i);
    __builtin_prefetch(p + record_size() - 1);
  }

  void copy(int slot, int from) override {
    std::memcpy(record(slot), record(from), sizeof(double) * record_size());
    age_[slot] = age_[from];
    touch(slot);
  }

  void load(int slot, Statistics& other, int from) override {
    auto& source = static_cast<GaussianWishartStatistics&>(other);
    std::memcpy(record(slot), source.record(from), sizeof(double) * record_size());
    age_[slot] = source.age_[from];
    touch(slot);
  }

  void pack(int slot, std::vector<double>& out) override {
    out.insert(out.end(), record(slot), record(slot) + record_size());
    out.push_back(age_[slot]);
  }

  void unpack(int slot, const double* data, std::size_t size) override {
    const double most = 2147483647.0;
    bool good = size == static_cast<std::size_t>(record_size()) + 1 && data[0] >= 0.0 && data[0] <= most;
    for (std::size_t i = 0; good && i < size; ++i) good = std::isfinite(data[i]);
    if (!good || !(data[size - 1] >= 0.0 && data[size - 1] <= most)) throw std::invalid_argument("packed statistics of another shape");
    std::memcpy(record(slot), data, sizeof(double) * record_size());
    age_[slot] = static_cast<int>(data[record_size()]);
    touch(slot);
  }

  void add(int slot, int row) override {
    double* p = record(slot);
    const double n = p[0], r = f_.r();
    double* mean = p + 2;
    double* scatter = mean + d();
    double* inverse = scatter + t();
    const double* x = f_.row(row);
    double few[D > 0 ? 2 * D : 1];
    double* z = D > 0 ? few : scratch_.data();
    double* v = z + d();
    // Posterior mean m_n = n·mean/(r+n); Ψ grows by ρ z zᵀ with z = x − m_n.
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * mean[i];
    const double q = std::max(0.0, symmetric_product(inverse, z, v));
    const double loss = trace(inverse) * square(z);
    const double rho = (r + n) / (r + n + 1.0);
    const double grow = 1.0 + rho * q;
    rank_one(inverse, v, -rho / grow);
    p[1] += std::log(grow);
    const double w = n / (n + 1.0), step = 1.0 / (n + 1.0);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - mean[i];
    rank_one(scatter, z, w);
    for (int i = 0; i < d(); ++i) mean[i] += step * z[i];
    p[0] = n + 1.0;
    if (++age_[slot] >= kRefactorEvery || !(loss < kWidest)) {
      refactor(slot);
      if (n == 0.0) p[1] = std::log(grow);  // exact for a first row, which a factorisation need not be
    }
    touch(slot);
  }

  bool remove(int slot, int row) override {
    double* p = record(slot);
    const double n = p[0], r = f_.r();
    if (n <= 1.0) {
      clear(slot);
      return true;
    }
    double* mean = p + 2;
    double* scatter = mean + d();
    double* inverse = scatter + t();
    const double* x = f_.row(row);
    double few[D > 0 ? 2 * D : 1];
    double* z = D > 0 ? few : scratch_.data();
    double* v = z + d();
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * mean[i];
    const double q = symmetric_product(inverse, z, v);
    const double a = (r + n) / (r + n - 1.0);
    const double keep = 1.0 - a * q;
    const double loss = trace(inverse) * square(z);
    double before = d(), after = d();
    for (int i = 0; i < d(); ++i) before += scatter[i * (i + 1) / 2 + i];
    for (int i = 0; i < d(); ++i) z[i] = x[i] - mean[i];
    rank_one(scatter, z, -n / (n - 1.0));
    for (int i = 0; i < d(); ++i) mean[i] -= z[i] / (n - 1.0);
    for (int i = 0; i < d(); ++i) after += scatter[i * (i + 1) / 2 + i];
    p[0] = n - 1.0;
    touch(slot);
    if (after < 1e-5 * before) return false;  // the scatter lost digits that only the rows can give back
    if (keep < 1e-4 || !(loss < kWidest * keep) || ++age_[slot] >= kRefactorEvery) return refactor(slot);
    rank_one(inverse, v, a / keep);
    p[1] += std::log(keep);
    return true;
  }

  void merge(int slot, int other) override {
    double* p = record(slot);
    const double* o = record(other);
    if (o[0] == 0.0) return;
    if (p[0] == 0.0) return copy(slot, other);
    const double n = p[0] + o[0];
    double few[D > 0 ? 2 * D : 1];
    double* z = D > 0 ? few : scratch_.data();
    for (int i = 0; i < d(); ++i) z[i] = o[2 + i] - p[2 + i];
    for (int i = 0; i < t(); ++i) p[2 + d() + i] += o[2 + d() + i];
    rank_one(p + 2 + d(), z, p[0] * o[0] / n);
    for (int i = 0; i < d(); ++i) p[2 + i] += z[i] * (o[0] / n);
    p[0] = n;
    refactor(slot);
    touch(slot);
  }

  double log_marginal(int slot) override {
    const double* p = record(slot);
    return f_.marginal_constant(static_cast<int>(p[0])) - 0.5 * (f_.nu() + p[0]) * p[1];
  }

  double log_predictive(int row, int slot) override {
    const double* p = record(slot);
    const double n = p[0], r = f_.r();
    const double* x = f_.row(row);
    double few[D > 0 ? 2 * D : 1];
    double* z = D > 0 ? few : scratch_.data();
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * p[2 + i];
    const double q = quadratic(p + 2 + d() + t(), z);
    return f_.predictive_constant(static_cast<int>(n)) - 0.5 * p[1] -
           0.5 * (f_.nu() + n + 1.0) * std::log(1.0 + (r + n) / (r + n + 1.0) * q);
  }

  double log_predictive_without(int row, int slot) override {
    const double* p = record(slot);
    const double n = p[0], r = f_.r();
    if (n <= 1.0) return f_.log_single()[row];
    const double* x = f_.row(row);
    double few[D > 0 ? 2 * D : 1];
    double* z = D > 0 ? few : scratch_.data();
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * p[2 + i];
    const double q = quadratic(p + 2 + d() + t(), z);
    const double keep = 1.0 - (r + n) / (r + n - 1.0) * q;
    if (keep < 1e-4) return leave_one_out_from_scatter(slot, row);
    return f_.predictive_constant(static_cast<int>(n) - 1) - 0.5 * p[1] + 0.5 * (f_.nu() + n - 1.0) * std::log(keep);
  }

  void log_predictive_front(int row, int k, double* out) override {
    for (int s : stale_predictive_) load_predictive(s);
    stale_predictive_.clear();
    simd().gw_predictive(predictive_panel_.data(), padded(k) / kLanes, d(), f_.row(row), out);
  }

  void log_marginal_merged(int slot, const int* others, int k, double* out) override {
    // The record of `slot` without the inverse, in the order the loop wants: n, mean, S.
    const double* p = record(slot);
    double* a = scratch_.data() + 2 * t() + 2 * d();
    a[0] = p[0];
    std::memcpy(a + 1, p + 2, sizeof(double) * (d() + t()));
    const bool front = clusters_ && is_front(others, k);
    if (front) {
      for (int s : stale_merge_) load_merge(s);
      stale_merge_.clear();
    }
    const int fields = merge_fields();
    if (!front) gather_.resize(static_cast<std::size_t>(kLanes) * fields);
    double lane_out[kLanes];
    for (int b = 0; b * kLanes < k; ++b) {
      const int count = std::min(kLanes, k - b * kLanes);
      const double* panel = merge_panel_.data() + static_cast<std::size_t>(b) * kLanes * fields;
      if (!front) {
        for (int l = 0; l < kLanes; ++l) {
          const double* o = record(others[b * kLanes + std::min(l, count - 1)]);
          gather_[l] = o[0];
          for (int i = 0; i < d() + t(); ++i) gather_[static_cast<std::size_t>(1 + i) * kLanes + l] = o[2 + i];
        }
        panel = gather_.data();
      }
      simd().gw_merged_logdet(panel, 1, d(), f_.r(), a, merge_work_.data(), lane_out);
      for (int l = 0; l < count; ++l) {
        const int n = static_cast<int>(a[0] + record(others[b * kLanes + l])[0]);
        out[b * kLanes + l] = f_.marginal_constant(n) - 0.5 * (f_.nu() + n) * lane_out[l];
      }
    }
  }

  // θ = (log-density constant, μ, Mᵀ row by row) with Λ = MMᵀ drawn by Bartlett's decomposition.
  int atom_size() const override { return 1 + d() + d() * d(); }

  void draw_atom(int slot, Rng& rng, double* atom) override {
    const double* p = record(slot);
    const double n = p[0], r = f_.r();
    std::vector<double> c(t()), bartlett(t()), inverse(t()), work(d());
    posterior_scale(n, p + 2, p + 2 + d(), c.data());
    const double logdet = cholesky(c.data(), d());
    double log_bartlett = 0.0;
    for (int i = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j) {
        double& a = bartlett[i * (i + 1) / 2 + j];
        if (j < i) {
          a = rng.normal();
        } else {  // a chi variate with ν + n − i degrees of freedom
          a = std::exp(0.5 * (rng.log_gamma_variate(0.5 * (f_.nu() + n - i)) + std::log(2.0)));
          log_bartlett += std::log(a);
        }
      }
    invert_triangle(c.data(), d(), inverse.data());
    double* m = atom + 1 + d();  // Mᵀ[k][i] = Σ_l C⁻¹[l][i] A[l][k]
    for (int k = 0; k < d(); ++k)
      for (int i = 0; i < d(); ++i) {
        double sum = 0.0;
        for (int l = std::max(i, k); l < d(); ++l) sum += inverse[l * (l + 1) / 2 + i] * bartlett[l * (l + 1) / 2 + k];
        m[k * d() + i] = sum;
      }
    // μ = m_n + C A⁻ᵀ ε / √(r+n).
    for (int i = 0; i < d(); ++i) work[i] = rng.normal();
    for (int i = d() - 1; i >= 0; --i) {
      for (int l = i + 1; l < d(); ++l) work[i] -= bartlett[l * (l + 1) / 2 + i] * work[l];
      work[i] /= bartlett[i * (i + 1) / 2 + i];
    }
    for (int i = 0; i < d(); ++i) {
      double noise = 0.0;
      for (int l = 0; l <= i; ++l) noise += c[i * (i + 1) / 2 + l] * work[l];
      atom[1 + i] = n / (r + n) * p[2 + i] + noise / std::sqrt(r + n);
    }
    atom[0] = log_bartlett - 0.5 * logdet - 0.5 * d() * kLog2Pi + f_.log_jacobian();
  }

  double log_density(int row, const double* atom) override {
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

 private:
  // A record: n, log|Ψ|, mean[d], S[t], P[t] with t = d(d+1)/2.
  int d() const { return D > 0 ? D : dynamic_d_; }
  int t() const { return d() * (d() + 1) / 2; }
  int record_size() const { return 2 + d() + 2 * t(); }
  double* record(int slot) { return records_.data() + static_cast<std::size_t>(slot) * record_size(); }
  int predictive_fields() const { return d() + t() + 3; }
  int merge_fields() const { return 1 + d() + t(); }
  // Panels follow the records lazily: a changed slot is listed once per panel and loaded at the next batched call.
  void touch(int slot) {
    if (!clusters_ || stale_[slot] == 3) return;
    if (!(stale_[slot] & 1)) stale_predictive_.push_back(slot);
    if (!(stale_[slot] & 2)) stale_merge_.push_back(slot);
    stale_[slot] = 3;
  }

  static bool is_front(const int* others, int k) {
    for (int i = 0; i < k; ++i)
      if (others[i] != i) return false;
    return true;
  }

  // v = A z, returns zᵀAz, A packed symmetric.
  double symmetric_product(const double* a, const double* z, double* v) const {
    for (int i = 0; i < d(); ++i) v[i] = 0.0;
    for (int i = 0; i < d(); ++i) {
      const double* row = a + i * (i + 1) / 2;
      double s = row[i] * z[i];
      for (int j = 0; j < i; ++j) {
        s += row[j] * z[j];
        v[j] += row[j] * z[i];
      }
      v[i] += s;
    }
    double q = 0.0;
    for (int i = 0; i < d(); ++i) q += v[i] * z[i];
    return q;
  }

  double quadratic(const double* a, const double* z) const {
    double q = 0.0;
    for (int i = 0; i < d(); ++i) {
      const double* row = a + i * (i + 1) / 2;
      double s = 0.0;
      for (int j = 0; j < i; ++j) s += row[j] * z[j];
      q += z[i] * (2.0 * s + row[i] * z[i]);
    }
    return q > 0.0 ? q : 0.0;
  }

  double trace(const double* a) const {
    double sum = 0.0;
    for (int i = 0; i < d(); ++i) sum += a[i * (i + 1) / 2 + i];
    return sum;
  }

  double square(const double* z) const {
    double sum = 0.0;
    for (int i = 0; i < d(); ++i) sum += z[i] * z[i];
    return sum;
  }

  void rank_one(double* a, const double* z, double w) const {
    for (int i = 0; i < d(); ++i) {
      const double wz = w * z[i];
      double* row = a + i * (i + 1) / 2;
      for (int j = 0; j <= i; ++j) row[j] += wz * z[j];
    }
  }

  // Ψ_n of (n, mean, S) into `psi`.
  void posterior_scale(double n, const double* mean, const double* scatter, double* psi) const {
    const double w = f_.r() * n / (f_.r() + n);
    int k = 0;
    for (int i = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j, ++k) psi[k] = scatter[k] + w * mean[i] * mean[j] + (i == j ? 1.0 : 0.0);
  }

  // P and log|Ψ| from the scatter; false when rounding has eaten the scatter.
  bool refactor(int slot) {
    double* p = record(slot);
    double* psi = scratch_.data() + 2 * d();
    posterior_scale(p[0], p + 2, p + 2 + d(), psi);
    const double logdet = cholesky(psi, d());
    age_[slot] = 0;
    if (std::isnan(logdet)) return false;
    p[1] = logdet;
    invert(psi, d(), p + 2 + d() + t(), psi + t());
    return true;
  }

  double leave_one_out_from_scatter(int slot, int row) {
    const double* p = record(slot);
    const double n = p[0];
    const double* x = f_.row(row);
    double* z = scratch_.data();
    double* mean = z + d();
    double* psi = mean + d();
    std::vector<double> scatter(p + 2 + d(), p + 2 + d() + t());
    for (int i = 0; i < d(); ++i) z[i] = x[i] - p[2 + i];
    rank_one(scatter.data(), z, -n / (n - 1.0));
    for (int i = 0; i < d(); ++i) mean[i] = p[2 + i] - z[i] / (n - 1.0);
    for (int i = 0; i < d(); ++i) {
      double& diagonal = scatter[i * (i + 1) / 2 + i];
      diagonal = std::max(diagonal, 0.0);
    }
    posterior_scale(n - 1.0, mean, scatter.data(), psi);
    double logdet = cholesky(psi, d());
    if (std::isnan(logdet)) logdet = 0.0;  // Ψ_n ⪰ I always, so this is the exact lower limit
    const int m = static_cast<int>(n);
    return log_marginal(slot) - (f_.marginal_constant(m - 1) - 0.5 * (f_.nu() + n - 1.0) * logdet);
  }

  void load_predictive(int slot) {
    const double* p = record(slot);
    const double n = p[0], r = f_.r();
    double* lane = predictive_panel_.data() + static_cast<std::size_t>(slot / kLanes) * kLanes * predictive_fields() + slot % kLanes;
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i, lane += kLanes) *lane = shrink * p[2 + i];
    const double* inverse = p + 2 + d() + t();
    for (int i = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j, lane += kLanes) *lane = (i == j ? 1.0 : 2.0) * *inverse++;
    lane[0] = (r + n) / (r + n + 1.0);
    lane[kLanes] = 0.5 * (f_.nu() + n + 1.0);
    lane[2 * kLanes] = f_.predictive_constant(static_cast<int>(n)) - 0.5 * p[1];
    stale_[slot] &= 2;
  }

  void load_merge(int slot) {
    const double* p = record(slot);
    double* lane = merge_panel_.data() + static_cast<std::size_t>(slot / kLanes) * kLanes * merge_fields() + slot % kLanes;
    lane[0] = p[0];
    for (int i = 0; i < d() + t(); ++i) lane[static_cast<std::size_t>(1 + i) * kLanes] = p[2 + i];
    stale_[slot] &= 1;
  }

  const GaussianWishart& f_;
  int dynamic_d_;
  bool clusters_;
  int slots_ = 0;
  PagedVector<double> records_;
  std::vector<int> age_;
  AlignedVector<double> predictive_panel_, merge_panel_, gather_, merge_work_;
  std::vector<unsigned char> stale_;  // 1: predictive panel, 2: merge panel
  std::vector<int> stale_predictive_, stale_merge_;
  std::vector<double> scratch_;
};

}  // namespace

GaussianWishart::GaussianWishart(const double* x, int n, int d, const double* mean, double r, double nu, const double* psi)
    : d_(d), r_(r), nu_(nu), mean_(mean, mean + d), chol_(static_cast<std::size_t>(d) * (d + 1) / 2) {
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) chol_[i * (i + 1) / 2 + j] = psi[static_cast<std::size_t>(i) * d + j];
  const double logdet = cholesky(chol_.data(), d);
  if (std::isnan(logdet)) throw std::invalid_argument("psi must be symmetric positive definite");
  log_det_l_ = 0.5 * logdet;
  append(x, n);
}

void GaussianWishart::whiten(const double* x, double* y) const {
  for (int i = 0; i < d_; ++i) {
    double s = x[i] - mean_[i];
    const double* row = chol_.data() + i * (i + 1) / 2;
    for (int j = 0; j < i; ++j) s -= row[j] * y[j];
    y[i] = s / row[i];
  }
}

void GaussianWishart::append(const double* x, int n) {
  y_.resize(static_cast<std::size_t>(n_ + n) * d_);
  log_single_.resize(n_ + n);
  for (int i = n_; i < n_ + n; ++i) whiten(x + static_cast<std::size_t>(i - n_) * d_, y_.data() + static_cast<std::size_t>(i) * d_);
  grow_tables(n_ + n);
  const int first = n_;
  n_ += n;
  for (int i = first; i < n_; ++i) {
    double q = 0.0;
    for (int j = 0; j < d_; ++j) q += row(i)[j] * row(i)[j];
    log_single_[i] = predictive_constant(0) - 0.5 * (nu_ + 1.0) * std::log1p(r_ / (r_ + 1.0) * q);
  }
}

void GaussianWishart::replace(int i, const double* x) {
  double* y = y_.data() + static_cast<std::size_t>(i) * d_;
  whiten(x, y);
  double q = 0.0;
  for (int j = 0; j < d_; ++j) q += y[j] * y[j];
  log_single_[i] = predictive_constant(0) - 0.5 * (nu_ + 1.0) * std::log1p(r_ / (r_ + 1.0) * q);
}

void GaussianWishart::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const GaussianWishart&>(other);
  if (o.d_ != d_) throw std::invalid_argument("rows must have the same number of columns");
  for (int i = 0; i < o.n_; ++i) n_ = std::max(n_, to[i] + 1);
  y_.resize(static_cast<std::size_t>(n_) * d_);
  log_single_.resize(n_);
  grow_tables(n_);
  for (int i = 0; i < o.n_; ++i) {
    std::copy_n(o.row(i), d_, y_.begin() + static_cast<std::ptrdiff_t>(to[i]) * d_);
    log_single_[to[i]] = o.log_single_[i];
  }
}

void GaussianWishart::grow_tables(int n) {
  const int old = static_cast<int>(marginal_table_.size());
  if (std::min(n + 2, kTableLimit) <= old) return;
  const int wanted = std::min(std::max(n + 2, old + old / 2), kTableLimit);  // by half, so that a stream pays once
  std::vector<double> marginal(wanted), predictive(wanted);
  std::copy(marginal_table_.begin(), marginal_table_.end(), marginal.begin());
  std::copy(predictive_table_.begin(), predictive_table_.end(), predictive.begin());
  marginal_table_.clear();
  predictive_table_.clear();
  for (int i = old; i < wanted; ++i) {
    marginal[i] = marginal_constant(i);
    predictive[i] = predictive_constant(i);
  }
  marginal_table_ = std::move(marginal);
  predictive_table_ = std::move(predictive);
}

double GaussianWishart::marginal_constant(int n) const {
  if (n < static_cast<int>(marginal_table_.size())) return marginal_table_[n];
  double total = -0.5 * n * d_ * kLogPi + 0.5 * d_ * std::log(r_ / (r_ + n)) - n * log_det_l_;
  for (int j = 0; j < d_; ++j) total += lgamma(0.5 * (nu_ + n - j)) - lgamma(0.5 * (nu_ - j));
  return total;
}

double GaussianWishart::predictive_constant(int n) const {
  if (n < static_cast<int>(predictive_table_.size())) return predictive_table_[n];
  return lgamma(0.5 * (nu_ + n + 1.0)) - lgamma(0.5 * (nu_ + n + 1.0 - d_)) - 0.5 * d_ * kLogPi +
         0.5 * d_ * std::log((r_ + n) / (r_ + n + 1.0)) - log_det_l_;
}

std::unique_ptr<Statistics> GaussianWishart::statistics(Layout layout) const {
  switch (d_) {
    case 1:
      return std::make_unique<GaussianWishartStatistics<1>>(*this, layout);
    case 2:
      return std::make_unique<GaussianWishartStatistics<2>>(*this, layout);
    case 3:
      return std::make_unique<GaussianWishartStatistics<3>>(*this, layout);
    case 4:
      return std::make_unique<GaussianWishartStatistics<4>>(*this, layout);
    case 5:
      return std::make_unique<GaussianWishartStatistics<5>>(*this, layout);
    case 6:
      return std::make_unique<GaussianWishartStatistics<6>>(*this, layout);
    case 7:
      return std::make_unique<GaussianWishartStatistics<7>>(*this, layout);
    case 8:
      return std::make_unique<GaussianWishartStatistics<8>>(*this, layout);
    default:
      return std::make_unique<GaussianWishartStatistics<0>>(*this, layout);
  }
}

}  // namespace hedgerow
