// Gaussian rows, whitened, and the constants of their densities.
#include "hedgerow/likelihoods/gaussian_wishart.hpp"

#include <algorithm>
#include <stdexcept>

#include "gaussian_wishart_statistics.hpp"
#include "hedgerow/counting.hpp"

namespace hedgerow {
namespace {
constexpr int kTableLimit = 1 << 20;
constexpr int kNear = 1 << 14;  // rows: up to here constants are summed term by term
}  // namespace

GaussianWishart::GaussianWishart(const double* x, int n, int d, const double* mean, double r, double nu, const double* psi,
                                 double power)
    : Likelihood(power), d_(d), r_(r / power), nu_(nu), mean_(mean, mean + d), chol_(static_cast<std::size_t>(d) * (d + 1) / 2) {
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) chol_[i * (i + 1) / 2 + j] = psi[static_cast<std::size_t>(i) * d + j];
  const double logdet = packed::cholesky(chol_.data(), d);
  if (std::isnan(logdet)) throw std::invalid_argument("psi must be symmetric positive definite");
  log_det_l_ = 0.5 * logdet;
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < i; ++j) upright_ = upright_ && chol_[packed::size(i) + j] == 0.0;
  if (power != 1.0)
    for (double& l : chol_) l /= std::sqrt(power);
  for (int j = 0; j < d; ++j) {
    log_gammas_ += lgamma(0.5 * (nu - j));
    gammas_.add(-0.5 * j);
    step_.add(0.5 * (power - j));
    step_.add(-0.5 * j, -1.0);
  }
  far_from_ = static_cast<int>(std::min(1e9, std::max<double>(kNear, (GammaSum::kFar * (d + power) - nu) / power)));
  append(x, n);
}

void GaussianWishart::whiten(const double* z, double* y) const {
  for (int i = 0; i < d_; ++i) {
    double s = z[i];
    const double* row = chol_.data() + i * (i + 1) / 2;
    for (int j = 0; j < i; ++j) s -= row[j] * y[j];
    y[i] = s / row[i];
  }
}

// Room for n rows in memory of its own.
void GaussianWishart::own_rows(int n) {
  if (y_.use_count() > 1) y_ = std::make_shared<std::vector<double>>(*y_);
  n_ = n;
  y_->resize(static_cast<std::size_t>(n) * d_);
  log_single_.resize(n);
  if (!gap_of_.empty()) gap_of_.resize(n, -1);
  grow_tables(std::max(n, static_cast<int>(std::min<std::int64_t>(came_, kNear))));
}

void GaussianWishart::append(const double* x, int n) {
  const int first = n_;
  came_ += n;
  own_rows(n_ + n);
  std::vector<double> whole(d_);
  for (int i = first; i < n_; ++i, x += d_) {
    std::vector<int> columns;
    for (int j = 0; j < d_; ++j) {
      whole[j] = std::isnan(x[j]) ? 0.0 : x[j] - mean_[j];
      if (std::isnan(x[j])) columns.push_back(j);
    }
    whiten(whole.data(), y_->data() + static_cast<std::size_t>(i) * d_);
    note_gaps(i, std::move(columns));
    set_single(i);
  }
}

void GaussianWishart::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const GaussianWishart&>(other);
  if (o.d_ != d_) throw std::invalid_argument("rows must have the same number of columns");
  int n = n_;
  came_ += o.n_;
  for (int i = 0; i < o.n_; ++i) n = std::max(n, to[i] + 1);
  own_rows(n);
  for (int i = 0; i < o.n_; ++i) {
    std::copy_n(o.as_it_came(i), d_, y_->begin() + static_cast<std::ptrdiff_t>(to[i]) * d_);
    note_gaps(to[i], o.has_gaps(i) ? o.missing(i) : std::vector<int>{});
    if (o.has_gaps(i)) fill(to[i], o.gaps_[o.gap_of_[i]].shift);
    log_single_[to[i]] = o.log_single_[i];
  }
}

// Row i has just been written; what was missing there before is forgotten.
void GaussianWishart::note_gaps(int i, std::vector<int> columns) {
  if (columns.empty() && !has_gaps(i)) return;
  if (axes_.empty()) {
    axes_.resize(static_cast<std::size_t>(d_) * d_);
    std::vector<double> unit(d_, 0.0);
    for (int j = 0; j < d_; ++j) {
      unit[j] = 1.0;
      whiten(unit.data(), axes_.data() + static_cast<std::size_t>(j) * d_);
      unit[j] = 0.0;
    }
  }
  gap_of_.resize(n_, -1);
  if (!has_gaps(i)) {
    gap_of_[i] = static_cast<int>(gaps_.size());
    gaps_.emplace_back();
  }
  if (columns.empty()) {  // the last one takes its place
    const int at = gap_of_[i], last = static_cast<int>(gaps_.size()) - 1;
    std::replace(gap_of_.begin(), gap_of_.end(), last, at);
    gap_of_[i] = -1;
    gaps_[at] = std::move(gaps_[last]);
    gaps_.pop_back();
    return;
  }
  Gap& gap = gaps_[gap_of_[i]];
  gap.shift.assign(columns.size(), 0.0);
  gap.columns = std::move(columns);
  gap.y.assign(as_it_came(i), as_it_came(i) + d_);
}

void GaussianWishart::set_single(int i) const {
  double q = 0.0;
  for (int j = 0; j < d_; ++j) q += row(i)[j] * row(i)[j];
  log_single_[i] = predictive_constant(0) - 0.5 * freedom(1.0) * std::log1p(r_ / (r_ + 1.0) * q);
}

void GaussianWishart::fill(int i, std::span<const double> shift) const {
  Gap& gap = gaps_[gap_of_[i]];
  gap.shift.assign(shift.begin(), shift.end());
  gap.y.assign(as_it_came(i), as_it_came(i) + d_);
  for (std::size_t c = 0; c < shift.size(); ++c) {
    const double* a = axis(gap.columns[c]);
    for (int j = gap.columns[c]; j < d_; ++j) gap.y[j] += shift[c] * a[j];
  }
  set_single(i);
}

std::vector<int> GaussianWishart::imputed_rows() const {
  std::vector<int> rows;
  for (int i = 0; i < static_cast<int>(gap_of_.size()); ++i)
    if (has_gaps(i)) rows.push_back(i);
  return rows;
}

std::shared_ptr<Likelihood> GaussianWishart::fork() const { return gaps_.empty() ? nullptr : std::make_shared<GaussianWishart>(*this); }

void GaussianWishart::save_filling(int row, std::vector<double>& out) const {
  if (!has_gaps(row)) return;
  const std::vector<double>& shift = gaps_[gap_of_[row]].shift;
  out.insert(out.end(), shift.begin(), shift.end());
}

std::span<const double> GaussianWishart::load_filling(int row, std::span<const double> in) const {
  if (!has_gaps(row)) return in;
  const std::size_t count = missing(row).size();
  if (in.size() < count ||
      !std::all_of(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count), [](double v) { return std::isfinite(v); }))
    throw std::invalid_argument("the fillings of missing entries are not those of these rows");
  fill(row, in.first(count));
  return in.subspan(count);
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
  return n < static_cast<int>(marginal_table_.size()) ? marginal_table_[n] : marginal_constant_of(n);
}

double GaussianWishart::marginal_constant_of(double n) const {
  const double worth = power_ * n;
  if (n >= far_from_)
    return 0.5 * d_ * std::log(r_ / (r_ + n)) - worth * (0.5 * d_ * kLogPi + log_det_l_) + gammas_.at(0.5 * freedom(n)) - log_gammas_;
  double total = -0.5 * worth * d_ * kLogPi + 0.5 * d_ * std::log(r_ / (r_ + n)) - worth * log_det_l_;
  for (int j = 0; j < d_; ++j) total += lgamma(0.5 * (nu_ + worth - j)) - lgamma(0.5 * (nu_ - j));
  return total;
}

double GaussianWishart::predictive_constant(int n) const {
  if (n < static_cast<int>(predictive_table_.size())) return predictive_table_[n];
  if (n >= far_from_) {
    const double z = 1.0 / (r_ + n + 1.0);  // log((r + n)/(r + n + 1)) = log(1 − z)
    const double shrunk = z * (1.0 + z * (1.0 / 2 + z * (1.0 / 3 + z / 4)));
    return step_.at(0.5 * freedom(n)) - 0.5 * d_ * shrunk - power_ * (0.5 * d_ * kLogPi + log_det_l_);
  }
  if (power_ != 1.0) {  // nothing telescopes
    double total = 0.5 * d_ * std::log((r_ + n) / (r_ + n + 1.0)) - power_ * (0.5 * d_ * kLogPi + log_det_l_);
    for (int j = 0; j < d_; ++j) total += log_rising_any(0.5 * (freedom(n) - j), 0.5 * power_);
    return total;
  }
  return lgamma(0.5 * (nu_ + n + 1.0)) - lgamma(0.5 * (nu_ + n + 1.0 - d_)) - 0.5 * d_ * kLogPi +
         0.5 * d_ * std::log((r_ + n) / (r_ + n + 1.0)) - log_det_l_;
}

template <int D>
static std::unique_ptr<Statistics> fixed(const GaussianWishart& family, Layout layout) {
  return std::make_unique<GaussianWishartStatistics<D>>(family, layout);
}

std::unique_ptr<Statistics> GaussianWishart::statistics(Layout layout) const {
  using Make = std::unique_ptr<Statistics> (*)(const GaussianWishart&, Layout);
  static constexpr Make kMake[] = {fixed<0>, fixed<1>, fixed<2>, fixed<3>, fixed<4>, fixed<5>, fixed<6>, fixed<7>, fixed<8>};
  return kMake[d_ < static_cast<int>(std::size(kMake)) ? d_ : 0](*this, layout);
}

}  // namespace hedgerow
