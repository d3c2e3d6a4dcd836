// Soft clustering of a window from random seeds, draws of parameters, and their weights.
#include "hedgerow/kernels/window_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hedgerow/likelihood.hpp"
#include "hedgerow/special.hpp"
#include "simd.hpp"

namespace hedgerow {
namespace {
constexpr int kStarts = 4, kShort = 4;  // tries of so many passes each, of which the best goes on
constexpr int kPasses = 15;             // of expectation and maximisation, at most
constexpr double kStill = 0.02;         // nats: a pass that gains less is the last
constexpr double kLeastShape = 0.5;     // of the Dirichlet law
constexpr double kLeastShare = 1e-3;    // rows: what a cluster that nobody belongs to weighs in the fit
}  // namespace

double log_permanent(std::span<const double> a, int k) {
  // By the sets of columns that the first rows may take: sums of positive terms, nothing cancels.
  std::vector<double> sums(std::size_t{1} << k, -kInf);
  sums[0] = 0.0;
  for (std::size_t set = 0; set < sums.size(); ++set) {
    if (sums[set] == -kInf) continue;
    int row = 0;
    for (std::size_t rest = set; rest != 0; rest &= rest - 1) ++row;
    for (int j = 0; j < k && row < k; ++j) {
      const std::size_t more = set | (std::size_t{1} << j);
      if (more != set) sums[more] = log_add(sums[more], sums[set] + a[static_cast<std::size_t>(row) * k + j]);
    }
  }
  return sums.back();
}

void draw_log_shares(Rng& rng, std::span<const double> shapes, std::vector<double>& out) {
  out.resize(shapes.size());
  for (std::size_t j = 0; j < shapes.size(); ++j) out[j] = rng.log_gamma_variate(shapes[j]);
  const double total = log_sum(out.data(), static_cast<int>(out.size()));
  for (double& x : out) x -= total;
}

// Every row belongs to the seed that it is least far from, by the posterior of a single row; seeds are drawn with weights that grow
// with the distance to those there are (Arthur and Vassilvitskii 2007).
void WindowFit::seed(Rng& rng) {
  std::vector<double> far(n_, kInf), alone(room_, 0.0);
  std::vector<int> nearest(n_, 0);
  int next = rng.index(n_);
  for (int j = 0; j < k_; ++j) {
    alone[next] = 1.0;
    portions_->weigh(j, alone.data());
    alone[next] = 0.0;
    portions_->middle_atom(j, atom_.data());
    portions_->log_densities(atom_.data(), density_.data());
    const double top = density_[next];
    double total = 0.0;
    for (int i = 0; i < n_; ++i) {
      const double away = std::max(0.0, top - density_[i]);
      if (away < far[i]) {
        far[i] = away;
        nearest[i] = j;
      }
      total += far[i];
    }
    double left = rng.uniform() * total;
    for (next = 0; next + 1 < n_; ++next)
      if ((left -= far[next]) < 0.0) break;
  }
  std::fill(share_.begin(), share_.end(), 0.0);
  entropy_ = 0.0;
  for (int i = 0; i < n_; ++i) of(share_, nearest[i])[i] = 1.0;
}

// Rows go to clusters as far as these densities say.
void WindowFit::part() {
  simd().window_shares(density_.data(), room_, k_, share_.data(), total_.data());
  entropy_ = std::accumulate(total_.begin(), total_.begin() + n_, 0.0);
  for (int j = 0; j < k_; ++j) {
    std::fill(of(share_, j) + n_, of(share_, j) + room_, 0.0);
    entropy_ -= simd().dot(of(share_, j), of(density_, j), room_);
  }
}

// So many passes of maximisation and expectation, or fewer where they gain nothing more. Returns the bound that shares r put below the
// log mass about them, Σ_j log p(rows counted r_j) + ln Γ(Σ r_j − σ) + the entropy of r.
double WindowFit::improve(int passes) {
  double reached = -kInf;
  for (int pass = 0;; ++pass) {
    double bound = entropy_;
    for (int j = 0; j < k_; ++j) {
      const double size = std::max(std::accumulate(of(share_, j), of(share_, j) + n_, 0.0) - sigma_, kLeastShare);
      bound += portions_->weigh(j, of(share_, j)) + lgamma(size);
      if (pass == passes) continue;
      portions_->middle_atom(j, atom_.data());
      portions_->log_densities(atom_.data(), of(density_, j));
      const double log_size = std::log(size);
      for (int i = 0; i < room_; ++i) of(density_, j)[i] += log_size;
    }
    if (pass == passes || bound - reached < kStill) return std::max(bound, reached);
    reached = bound;
    part();
  }
}

bool WindowFit::fit(Rng& rng, Portions& portions, std::span<const int> rows, int clusters, double sigma, double log_alone) {
  portions_ = &portions;
  n_ = static_cast<int>(rows.size());
  room_ = padded(n_);
  k_ = clusters;
  sigma_ = sigma;
  log_alone_ = log_alone;
  portions.open(rows, k_);
  atom_.resize(portions.atom_size());
  density_.assign(static_cast<std::size_t>(room_) * k_, 0.0);
  total_.resize(room_);
  share_.assign(density_.size(), 0.0);
  std::fill_n(share_.begin(), n_, 1.0);
  evidence_.resize(k_);
  shape_.resize(k_);
  if (k_ > 1) {
    double top = -kInf, entropy = 0.0;
    std::vector<double> best;
    for (int start = 0; start < kStarts; ++start) {
      seed(rng);
      const double reached = improve(kShort);
      if (start > 0 && !(reached > top)) continue;
      top = reached;
      best = share_;
      entropy = entropy_;
    }
    share_ = std::move(best);
    entropy_ = entropy;
    improve(kPasses);
  }
  for (int j = 0; j < k_; ++j) {
    double* share = of(share_, j);
    const double size = std::accumulate(share, share + n_, 0.0);
    const double rho = size > 0.0 ? simd().dot(share, share, room_) / size : 1.0;
    for (int i = 0; i < n_; ++i) share[i] *= rho;
    evidence_[j] = portions.weigh(j, share);
    shape_[j] = std::max(rho * size - sigma, kLeastShape);
  }
  return std::all_of(evidence_.begin(), evidence_.end(), [](double log_p) { return std::isfinite(log_p); });
}

double WindowFit::draw(Rng& rng, Placed& out) {
  out.log_density.resize(density_.size());
  draw_log_shares(rng, shape_, out.log_share);
  for (int j = 0; j < k_; ++j) {
    portions_->draw_atom(j, rng, atom_.data());
    portions_->log_densities(atom_.data(), out.log_density.data() + static_cast<std::ptrdiff_t>(j) * room_);
  }
  return log_weight(out);
}

double WindowFit::log_orders(const Placed& placed) {
  table_.resize(static_cast<std::size_t>(k_) * k_);
  for (int j = 0; j < k_; ++j)
    for (int o = 0; o < k_; ++o)
      table_[j * k_ + o] = simd().dot(of(share_, j), placed.log_density.data() + static_cast<std::ptrdiff_t>(o) * room_, room_) -
                           evidence_[j] + (shape_[j] - 1.0) * placed.log_share[o];
  double log_beta = -lgamma(std::accumulate(shape_.begin(), shape_.end(), 0.0));
  for (double a : shape_) log_beta += lgamma(a);
  return log_permanent(table_, k_) - log_beta;
}

double WindowFit::log_weight(const Placed& placed) {
  double total = k_ * log_alone_ + lgamma(n_ - k_ * sigma_);
  for (double share : placed.log_share) total -= (1.0 + sigma_) * share;
  mixed_.resize(density_.size());
  for (int j = 0; j < k_; ++j) {
    const double* log_density = placed.log_density.data() + static_cast<std::ptrdiff_t>(j) * room_;
    for (int i = 0; i < room_; ++i) of(mixed_, j)[i] = placed.log_share[j] + log_density[i];
  }
  simd().window_shares(mixed_.data(), room_, k_, mixed_.data(), total_.data());
  for (int i = 0; i < n_; ++i) total += total_[i];
  return total - log_orders(placed);
}

}  // namespace hedgerow
