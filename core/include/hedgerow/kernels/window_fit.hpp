// A mixture of k clusters fitted to the rows of a few clusters, and from it parameters drawn at random with their exact weight.
//
// Clusters that share the rows of a window, n in all, have proportions π and parameters θ; given these rows choose independently, and
// with the labels summed out
//
//     p(π, θ, X) = κ₀ᵏ Γ(n − kσ) Π_j π_j^(−1−σ) H(θ_j) · Π_i Σ_j π_j L(x_i|θ_j),     κ₀ = κ(1,u) / Γ(1−σ).
//
// The fit is soft clustering (expectation–maximisation) from seeds drawn at random: it is decided by the rows, k and these
// random numbers. It proposes π from a Dirichlet law and each θ_j from its posterior given the rows as far as they are cluster j's,
// r_ij, and as far as that is known: what labels in doubt leave of the information is about ρ_j = Σ_i r_ij² / Σ_i r_ij (Louis 1982).
// The density of a set of clusters is that of the proposal summed over the orders in which it may come.
#pragma once

#include <span>
#include <vector>

#include "hedgerow/portions.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

// Clusters by their parameters, and what these say of the rows of a window.
struct Placed {
  std::vector<double> log_share;    // log π, one a cluster
  std::vector<double> log_density;  // log L of every row, cluster by cluster, with room for a multiple of 8 rows
};

class WindowFit {
 public:
  // `log_alone` is log κ₀. False where rounding has spoilt the fit, and nothing can be drawn about it.
  bool fit(Rng& rng, Portions& portions, std::span<const int> rows, int clusters, double sigma, double log_alone);
  // Parameters at random; returns log [p(π, θ, X) / their density].
  double draw(Rng& rng, Placed& out);
  // The same weight of parameters from elsewhere.
  double log_weight(const Placed& placed);

 private:
  void seed(Rng& rng);
  double improve(int passes);
  void part();
  double log_orders(const Placed& placed);
  double* of(std::vector<double>& all, int cluster) const { return all.data() + static_cast<std::ptrdiff_t>(cluster) * room_; }

  Portions* portions_ = nullptr;
  int n_ = 0, room_ = 0, k_ = 0;
  double sigma_ = 0.0, log_alone_ = 0.0, entropy_ = 0.0;
  std::vector<double> share_;     // r, cluster by cluster
  std::vector<double> evidence_;  // log p of the rows as they count in each
  std::vector<double> shape_;     // of the Dirichlet law
  std::vector<double> density_, total_, mixed_, atom_, table_;
};

// log Σ over all orders o of exp(Σ_j a[j][o(j)]), a square of k² logs in rows.
double log_permanent(std::span<const double> a, int k);

// π of the Dirichlet law with these shapes, as logs.
void draw_log_shares(Rng& rng, std::span<const double> shapes, std::vector<double>& out);

}  // namespace hedgerow
