// The multinomial family: its rows and the sums of logarithms they are scored with.
#include "hedgerow/likelihoods/multinomial.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hedgerow/counting.hpp"
#include "hedgerow/special.hpp"
#include "multinomial_cells.hpp"

namespace hedgerow {
namespace {
constexpr std::int64_t kTable = 1 << 16;
constexpr const char* kTooMany = "the counts must sum to less than 2e9";
}  // namespace

Multinomial::Multinomial(const std::int64_t* indptr, const std::int32_t* indices, const double* counts, int n, int columns, double beta,
                         double power)
    : Likelihood(power), columns_(columns), beta_(beta), log_gamma_beta_(lgamma(beta)), log_gamma_total_(lgamma(beta * columns)) {
  append(indptr, indices, counts, n);
}

void Multinomial::append(const std::int64_t* indptr, const std::int32_t* indices, const double* counts, int n) {
  const int old = rows();
  for (int i = 0; i < n; ++i) {
    std::int64_t total = 0;
    double logs = 0.0;
    for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
      const auto count = static_cast<std::int64_t>(counts[k]);
      cells_.push_back({indices[k], static_cast<std::int32_t>(count)});
      total += count;
      logs += lgamma(static_cast<double>(count) + 1.0);
    }
    start_.push_back(static_cast<std::int64_t>(cells_.size()) - (indptr[i + 1] - indptr[i]));
    length_.push_back(static_cast<std::int32_t>(indptr[i + 1] - indptr[i]));
    totals_.push_back(total);
    coefficients_.push_back(power_ * (lgamma(static_cast<double>(total) + 1.0) - logs));
    grand_total_ += total;
  }
  if (grand_total_ > kMostTokens) throw std::invalid_argument(kTooMany);
  grow_table();
  log_single_.resize(rows());
  for (int i = old; i < rows(); ++i) {
    double value = coefficients_[i] + log_normaliser(static_cast<double>(totals_[i]));
    for (const Cell* c = begin(i); c != end(i); ++c) value += log_rising(c->count);
    log_single_[i] = value;
  }
}

void Multinomial::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const Multinomial&>(other);
  if (o.columns_ != columns_) throw std::invalid_argument("rows must have the same number of columns");
  if (grand_total_ + o.grand_total_ > kMostTokens) throw std::invalid_argument(kTooMany);
  grand_total_ += o.grand_total_;
  grow_table();
  for (int i = 0; i < o.rows(); ++i) {
    if (to[i] >= rows()) {
      start_.push_back(0);
      length_.push_back(0);
      totals_.push_back(0);
      coefficients_.push_back(0.0);
      log_single_.push_back(0.0);
    }
    unused_ += length_[to[i]];
    if (o.length_[i] > length_[to[i]]) {
      start_[to[i]] = static_cast<std::int64_t>(cells_.size());
      cells_.insert(cells_.end(), o.begin(i), o.end(i));
    } else {
      std::copy(o.begin(i), o.end(i), cells_.begin() + start_[to[i]]);
      unused_ -= o.length_[i];
    }
    length_[to[i]] = o.length_[i];
    totals_[to[i]] = o.totals_[i];
    coefficients_[to[i]] = o.coefficients_[i];
    log_single_[to[i]] = o.log_single_[i];
  }
  if (2 * unused_ > static_cast<std::int64_t>(cells_.size())) compact();
}

// Cells of replaced rows leave holes; close them once they are half of all.
void Multinomial::compact() {
  std::vector<Cell> kept;
  kept.reserve(cells_.size() - static_cast<std::size_t>(unused_));
  for (int i = 0; i < rows(); ++i) {
    const auto at = static_cast<std::int64_t>(kept.size());
    kept.insert(kept.end(), begin(i), end(i));
    start_[i] = at;
  }
  cells_ = std::move(kept);
  unused_ = 0;
}

void Multinomial::grow_table() {
  const std::int64_t wanted = std::min(kTable, grand_total_ + 2);
  const std::vector<double> kept = std::move(table_);
  std::vector<double> grown(kept);
  table_.clear();
  for (auto c = static_cast<std::int64_t>(grown.size()); c < wanted; ++c) grown.push_back(log_rising(c));
  table_ = std::move(grown);
  if (power_ == 1.0) return;
  for (auto c = static_cast<std::int64_t>(factors_.size()); c < wanted; ++c)
    factors_.push_back(std::exp(log_rising_any(beta_ + power_ * static_cast<double>(c), power_)));
}

double Multinomial::log_rising(std::int64_t c) const {
  if (static_cast<std::uint64_t>(c) < table_.size()) return table_[c];
  return lgamma(beta_ + power_ * static_cast<double>(c)) - log_gamma_beta_;
}

double Multinomial::log_normaliser(double tokens) const { return log_gamma_total_ - lgamma(beta_ * columns_ + power_ * tokens); }

std::unique_ptr<Statistics> Multinomial::statistics(Layout layout) const {
  if (layout == Layout::clusters) return multinomial_table(*this);
  return multinomial_nodes(*this);
}

}  // namespace hedgerow
