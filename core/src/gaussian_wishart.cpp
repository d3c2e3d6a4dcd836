// Gaussian rows, whitened, and the constants of their densities.
#include "hedgerow/likelihoods/gaussian_wishart.hpp"

#include <stdexcept>

#include "gaussian_wishart_statistics.hpp"

namespace hedgerow {
namespace {
constexpr int kTableLimit = 1 << 20;
}  // namespace

GaussianWishart::GaussianWishart(const double* x, int n, int d, const double* mean, double r, double nu, const double* psi)
    : d_(d), r_(r), nu_(nu), mean_(mean, mean + d), chol_(static_cast<std::size_t>(d) * (d + 1) / 2) {
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) chol_[i * (i + 1) / 2 + j] = psi[static_cast<std::size_t>(i) * d + j];
  const double logdet = packed::cholesky(chol_.data(), d);
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
