// Sufficient statistics of Gaussian clusters: n, mean, scatter S, and P = Ψ_n⁻¹ with its log determinant kept by
// rank-one updates (Sherman–Morrison), refactored before rounding matters.
#pragma once

#include <cstring>
#include <stdexcept>

#include "gaussian_record.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/paged.hpp"
#include "hedgerow/special.hpp"
#include "packed.hpp"

namespace hedgerow {

// D > 0 fixes the dimension at compile time. Beyond, P is made only where it is asked for: trees merge far more often than they look.
template <int D>
class GaussianWishartStatistics final : public Statistics {
 public:
  GaussianWishartStatistics(const GaussianWishart& family, Layout layout)
      : f_(family), dynamic_d_(family.dimension()), clusters_(layout == Layout::clusters), wide_(d() >= kWide) {
    const std::size_t square = static_cast<std::size_t>(padded(d())) * d();
    scratch_.resize(static_cast<std::size_t>(2 * padded(d())) + (D > 0 ? 2 * t() + d() + 16 : 2 * square));
    if (!wide_) merge_work_.resize(static_cast<std::size_t>(2 * d() + t()) * kLanes);
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
      if (!wide_) merge_panel_.resize(blocks * kLanes * merge_fields());
      stale_.resize(padded(slots), 0);
    }
    for (int s = old; s < slots; ++s) clear(s);
  }

  // Slots that are about to be filled row by row: beyond fixed dimensions only their scatter is kept until something is asked.
  void reset(int wanted) override {
    Statistics::reset(wanted);
    if constexpr (D == 0) std::fill(age_.begin(), age_.end(), kScatterOnly);
  }

  void clear(int slot) override {
    const Record p = record(slot);
    std::memset(p.all().data(), 0, p.all().size_bytes());
    for (int i = 0; i < d(); ++i) p.inverse()[packed::size(i) + i] = 1.0;
    age_[slot] = 0;
    touch(slot);
  }

  void prefetch(int slot) const override {
    const double* p = records_.data() + static_cast<std::size_t>(slot) * record_size();
    const int ahead = std::min(record_size(), kPrefetched);
    for (int i = 0; i < ahead; i += 8) __builtin_prefetch(p + i);
    __builtin_prefetch(p + ahead - 1);
  }

  void copy(int slot, int from) override { load(slot, *this, from); }

  void load(int slot, Statistics& other, int from) override {
    auto& source = static_cast<GaussianWishartStatistics&>(other);
    std::memcpy(record(slot).all().data(), source.record(from).all().data(), sizeof(double) * record_size());
    age_[slot] = source.age_[from];
    if (source.f_.power() != f_.power()) rescale(slot, f_.power() / source.f_.power());
    touch(slot);
  }

  void pack(int slot, std::vector<double>& out) override {
    need_inverse(slot);
    const auto all = record(slot).all();
    out.insert(out.end(), all.begin(), all.end());
    out.push_back(age_[slot]);
  }

  void unpack(int slot, std::span<const double> data) override {
    const double most = 2147483647.0;
    bool good = data.size() == static_cast<std::size_t>(record_size()) + 1 && data[0] >= 0.0 && data[0] <= most;
    for (std::size_t i = 0; good && i < data.size(); ++i) good = std::isfinite(data[i]);
    if (!good || !(data[data.size() - 1] >= 0.0 && data[data.size() - 1] <= most))
      throw std::invalid_argument("packed statistics of another shape");
    std::memcpy(record(slot).all().data(), data.data(), sizeof(double) * record_size());
    age_[slot] = static_cast<int>(data[record_size()]);
    touch(slot);
  }

  void add(int slot, int row) override {
    if (D == 0 && age_[slot] == kScatterOnly) return add_to_scatter(slot, f_.row(row));
    need_inverse(slot);
    const Record p = record(slot);
    const double n = p.n(), r = f_.r();
    const double* x = f_.row(row);
    Vector z(*this, 0), v(*this, 1);
    // Posterior mean m_n = n·mean/(r+n); Ψ grows by ρ z zᵀ with z = x − m_n.
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * p.mean()[i];
    const double q = std::max(0.0, packed::product<D>(p.inverse(), d(), z, v));
    const double loss = packed::trace<D>(p.inverse(), d()) * square(z);
    const double rho = (r + n) / (r + n + 1.0);
    const double grow = 1.0 + rho * q;
    packed::rank_one<D>(p.inverse(), d(), v, -rho / grow);
    p.logdet() += std::log(grow);
    add_to_scatter(slot, x);
    if (++age_[slot] >= kRefactorEvery || !(loss < kWidest)) {
      refactor(slot);
      if (n == 0.0) p.logdet() = std::log(grow);  // exact for a first row, which a factorisation need not be
    }
    touch(slot);
  }

  void add_each(std::span<const int> slots) override;

  bool remove(int slot, int row) override {
    const Record p = record(slot);
    const double n = p.n(), r = f_.r();
    if (n <= 1.0) {
      clear(slot);
      return true;
    }
    need_inverse(slot);
    const double* x = f_.row(row);
    Vector z(*this, 0), v(*this, 1);
    const double shrink = n / (r + n);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * p.mean()[i];
    const double q = packed::product<D>(p.inverse(), d(), z, v);
    const double a = (r + n) / (r + n - 1.0);
    const double keep = 1.0 - a * q;
    const double loss = packed::trace<D>(p.inverse(), d()) * square(z);
    const double before = d() + packed::trace<D>(p.scatter(), d());
    for (int i = 0; i < d(); ++i) z[i] = x[i] - p.mean()[i];
    packed::rank_one<D>(p.scatter(), d(), z, -n / (n - 1.0));
    for (int i = 0; i < d(); ++i) p.mean()[i] -= z[i] / (n - 1.0);
    const double after = d() + packed::trace<D>(p.scatter(), d());
    p.n() = n - 1.0;
    touch(slot);
    if (after < 1e-5 * before) return false;  // the scatter lost digits that only the rows can give back
    if (keep < 1e-4 || !(loss < kWidest * keep) || ++age_[slot] >= kRefactorEvery) return refactor(slot);
    packed::rank_one<D>(p.inverse(), d(), v, a / keep);
    p.logdet() += std::log(keep);
    return true;
  }

  void merge(int slot, int other) override {
    const Record p = record(slot), o = record(other);
    if (o.n() == 0.0) return;
    if (p.n() == 0.0) return copy(slot, other);
    const double n = p.n() + o.n();
    Vector z(*this, 0);
    for (int i = 0; i < d(); ++i) z[i] = o.mean()[i] - p.mean()[i];
    for (int i = 0; i < t(); ++i) p.scatter()[i] += o.scatter()[i];
    packed::rank_one<D>(p.scatter(), d(), z, p.n() * o.n() / n);
    for (int i = 0; i < d(); ++i) p.mean()[i] += z[i] * (o.n() / n);
    p.n() = n;
    refactor(slot);
    touch(slot);
  }

  double log_marginal(int slot) override {
    if (D == 0 && age_[slot] == kScatterOnly) need_inverse(slot);
    const Record p = record(slot);
    return f_.marginal_constant(static_cast<int>(p.n())) - 0.5 * f_.freedom(p.n()) * p.logdet();
  }

  double log_predictive(int row, int slot) override { return log_predictive_of(f_.row(row), slot); }

  double log_predictive_without(int row, int slot) override {
    const Record p = record(slot);
    const double n = p.n(), r = f_.r();
    if (n <= 1.0) return f_.log_single()[row];
    const double keep = 1.0 - (r + n) / (r + n - 1.0) * distance(f_.row(row), slot);
    if (keep < 1e-4) return leave_one_out_from_scatter(slot, row);
    return f_.predictive_constant(static_cast<int>(n) - 1) - 0.5 * f_.power() * p.logdet() +
           0.5 * (f_.freedom(n) - f_.power()) * std::log(keep);
  }

  void log_predictive_front(int row, int k, double* out) override { front_predictive(f_.row(row), k, out); }

  void log_marginal_merged(int slot, std::span<const int> others, double* out) override;

  double log_observed(int row, int slot) override;
  void log_observed_front(int row, int k, double* out) override;
  double impute(int row, int slot, Rng& rng, bool whole) override;
  double log_tilt(int row, int empty) override;

  // θ = (log-density constant, μ, Mᵀ row by row) with Λ = MMᵀ drawn by Bartlett's decomposition.
  int atom_size() const override { return 1 + d() + d() * d(); }
  void draw_atom(int slot, Rng& rng, double* atom) override;
  double log_density(int row, const double* atom) override;
  double log_observed_density(int row, const double* atom) override;
  void impute_given(int row, const double* atom, Rng& rng) override;

 private:
  using Record = GaussianRecord<D>;
  static constexpr int kRefactorEvery = 256;
  // Rounding in P, of the size of its trace, comes back in zᵀPz times |z|²: beyond this product P is made anew at once. It is met
  // while a cluster has fewer rows than columns and the rows are far wider than Ψ.
  static constexpr double kWidest = 1e4;
  // Columns from which determinants are taken one by one, along rows, and not eight at a time: the eight no longer fit the cache. Below,
  // as long as they are so few that most of the eight would be for nothing.
  static constexpr int kWide = 40, kFewFrom = 16;
  static constexpr int kPrefetched = 512;  // doubles: what comes first is looked at first, and more is not there in time
  // Ages of slots whose P has yet to be made, and of those whose log|Ψ_n| has too.
  static constexpr int kNoInverse = -1, kScatterOnly = -2;

  // Room for a vector: on the stack where d is fixed, else in the scratch.
  class Vector {
   public:
    Vector(GaussianWishartStatistics& s, int which) : p_(D > 0 ? few_ : s.scratch_.data() + which * padded(s.d())) {}
    operator double*() { return p_; }

   private:
    double few_[D > 0 ? D : 1];
    double* p_;
  };

  int d() const { return D > 0 ? D : dynamic_d_; }
  int t() const { return packed::size(d()); }
  int record_size() const { return Record::size(d()); }
  Record record(int slot) { return {records_.data() + static_cast<std::size_t>(slot) * record_size(), d()}; }
  int predictive_fields() const { return d() + t() + 3; }
  int merge_fields() const { return 1 + d() + t(); }
  double* work() { return scratch_.data() + 2 * padded(d()); }  // beyond the two vectors

  // Panels follow the records lazily: a changed slot is listed once per panel and loaded at the next batched call.
  void touch(int slot) {
    if (!clusters_ || stale_[slot] == 3) return;
    if (!(stale_[slot] & 1)) stale_predictive_.push_back(slot);
    if (!(stale_[slot] & 2)) stale_merge_.push_back(slot);
    stale_[slot] = 3;
  }

  static bool is_front(std::span<const int> others) {
    for (int i = 0; i < static_cast<int>(others.size()); ++i)
      if (others[i] != i) return false;
    return true;
  }

  void add_to_scatter(int slot, const double* x) {
    const Record p = record(slot);
    const double n = p.n(), w = n / (n + 1.0), step = 1.0 / (n + 1.0);
    Vector z(*this, 0);
    for (int i = 0; i < d(); ++i) z[i] = x[i] - p.mean()[i];
    if (D > 0 || n > 0.0) packed::rank_one<D>(p.scatter(), d(), z, w);
    for (int i = 0; i < d(); ++i) p.mean()[i] += step * z[i];
    p.n() = n + 1.0;
    touch(slot);
  }

  // Rows whitened at another power.
  void rescale(int slot, double ratio) {
    const Record p = record(slot);
    for (int i = 0; i < d(); ++i) p.mean()[i] *= std::sqrt(ratio);
    for (int i = 0; i < t(); ++i) p.scatter()[i] *= ratio;
    if (p.n() > 0.0) refactor(slot);
  }

  double square(const double* z) const {
    double sum = 0.0;
    for (int i = 0; i < d(); ++i) sum += z[i] * z[i];
    return sum;
  }

  // (x − m_n)ᵀP(x − m_n).
  double distance(const double* x, int slot) {
    need_inverse(slot);
    const Record p = record(slot);
    Vector z(*this, 0);
    const double shrink = p.n() / (f_.r() + p.n());
    for (int i = 0; i < d(); ++i) z[i] = x[i] - shrink * p.mean()[i];
    return packed::quadratic<D>(p.inverse(), d(), z);
  }

  double log_predictive_of(const double* x, int slot) {
    const double q = distance(x, slot);
    const Record p = record(slot);
    const double n = p.n(), r = f_.r();
    return f_.predictive_constant(static_cast<int>(n)) - 0.5 * f_.power() * p.logdet() -
           0.5 * (f_.freedom(n) + f_.power()) * std::log(1.0 + (r + n) / (r + n + 1.0) * q);
  }

  void bring_predictive() {
    for (int s : stale_predictive_) load_predictive(s);
    stale_predictive_.clear();
  }

  void front_predictive(const double* x, int k, double* out) {
    bring_predictive();
    simd().gw_predictive(predictive_panel_.data(), padded(k) / kLanes, d(), x, out);
  }

  // Ψ_n of (n, mean, S) into `psi`.
  void posterior_scale(double n, const double* mean, const double* scatter, double* psi) const {
    const double w = f_.r() * n / (f_.r() + n);
    int k = 0;
    for (int i = 0; i < d(); ++i)
      for (int j = 0; j <= i; ++j, ++k) psi[k] = scatter[k] + w * mean[i] * mean[j] + (i == j ? 1.0 : 0.0);
  }

  // log|Ψ| from the scatter, and P, or a note that it is still to be made; false when rounding has eaten the scatter.
  bool refactor(int slot) {
    const Record p = record(slot);
    double* psi = work();
    double logdet;
    if constexpr (D > 0) {
      posterior_scale(p.n(), p.mean(), p.scatter(), psi);
      logdet = packed::cholesky(psi, d());
    } else {
      logdet = factored(slot);
    }
    age_[slot] = 0;
    if (std::isnan(logdet)) return false;
    p.logdet() = logdet;
    if constexpr (D > 0)
      packed::invert(psi, d(), p.inverse(), psi + t());
    else
      age_[slot] = kNoInverse;
    return true;
  }

  // The factor of Ψ_n into work(); returns its log determinant.
  double factored(int slot) {
    const Record p = record(slot);
    zero_.resize(t());
    simd().scale_matrix(work(), d(), p.scatter(), zero_.data(), p.mean(), f_.r() * p.n() / (f_.r() + p.n()), p.mean(), 0.0);
    return simd().factor_square(work(), d());
  }

  // P, and log|Ψ_n| where it is missing too. One row or none need no factorisation.
  void need_inverse(int slot) {
    if (D > 0 || age_[slot] >= 0) return;
    const Record p = record(slot);
    if (p.n() <= 1.0) {
      invert_one(slot);
    } else {
      const double logdet = factored(slot);
      if (age_[slot] == kScatterOnly) p.logdet() = logdet;
      simd().invert_square(work(), d(), work() + static_cast<std::size_t>(padded(d())) * d(), p.inverse());
    }
    age_[slot] = 0;
  }

  // P and log|Ψ_n| of a slot with one row or none.
  void invert_one(int slot) {
    const Record p = record(slot);
    const double rho = f_.r() / (f_.r() + 1.0), grow = 1.0 + rho * square(p.mean());
    std::fill_n(p.inverse(), t(), 0.0);
    for (int i = 0; i < d(); ++i) p.inverse()[packed::size(i) + i] = 1.0;
    packed::rank_one<D>(p.inverse(), d(), p.mean(), -rho / grow);
    p.logdet() = std::log(grow);
  }

  void add_each_wide(std::span<const int> slots);
  double leave_one_out_from_scatter(int slot, int row);
  struct Gaps;
  struct Heights;
  const double* heights(int missing, int k);
  Gaps look(int row, int slot);
  Gaps look_at(int row, const double* atom) const;
  void load_predictive(int slot);
  void load_merge(int slot);
  void merged_in_lanes(int slot, std::span<const int> others, double* out);
  void merged_one_by_one(int slot, std::span<const int> others, double* out);

  const GaussianWishart& f_;
  int dynamic_d_;
  bool clusters_, wide_;
  int slots_ = 0;
  PagedVector<double> records_;
  std::vector<int> age_;
  AlignedVector<double> predictive_panel_, merge_panel_, gather_, merge_work_, scratch_, front_;
  std::vector<double> zero_;
  std::vector<unsigned char> stale_;  // 1: predictive panel, 2: merge panel
  std::vector<int> stale_predictive_, stale_merge_;
  std::vector<Heights> heights_;  // by the number of missing entries
  AlignedVector<double> gap_work_;
  std::vector<int> seen_;
};

}  // namespace hedgerow

#include "gaussian_wishart_atoms.hpp"
#include "gaussian_wishart_filling.hpp"
#include "gaussian_wishart_gaps.hpp"
#include "gaussian_wishart_panels.hpp"
#include "gaussian_wishart_unions.hpp"
