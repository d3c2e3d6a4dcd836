// Log densities of one row under many atoms: in lanes of eight for Gaussian clusters, one by one for other families.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"

namespace hedgerow {

class AtomPanel {
 public:
  AtomPanel(const Likelihood& likelihood, Statistics& statistics)
      : statistics_(statistics), gaussian_(dynamic_cast<const GaussianWishart*>(&likelihood)), width_(statistics.atom_size()) {
    if (gaussian_) d_ = gaussian_->dimension();
    z_.resize(8 * static_cast<std::size_t>(d_));
  }

  // Atoms one after the other, `count` of them, each with what is added to its log density; both must outlive the panel.
  void load(const double* atoms, const double* extra, int count) {
    atoms_ = atoms;
    extra_ = extra;
    if (!gaussian_) return;
    const int fields = 1 + d_ + d_ * (d_ + 1) / 2;
    lanes_.assign(static_cast<std::size_t>(padded(count)) * fields, 0.0);
    std::vector<double> root(static_cast<std::size_t>(d_) * d_);
    for (int a = 0; a < count; ++a) {
      const double* atom = atoms + static_cast<std::size_t>(a) * width_;
      double* lane = &lanes_[static_cast<std::size_t>(a / 8) * 8 * fields + a % 8];
      lane[0] = atom[0] + extra[a];
      for (int i = 1; i <= d_; ++i) lane[8 * i] = atom[i];
      factor(atom + 1 + d_, root.data());
      int at = 1 + d_;
      for (int k = d_ - 1; k >= 0; --k)
        for (int i = k; i < d_; ++i) lane[8 * at++] = root[k * d_ + i];
    }
    for (std::size_t a = count; a < static_cast<std::size_t>(padded(count)); ++a) lanes_[a / 8 * 8 * fields + a % 8] = -HUGE_VAL;
  }

  // Log densities of a row under the first atoms, at least `wanted` and at most the next multiple of 8; out has room for those.
  // `likely` is one of the wanted, a good guess of the best. What is more than `far` below it may come out as −∞.
  void log_densities(int row, int wanted, int likely, double far, double* out) const {
    if (!gaussian_) {
      for (int a = 0; a < wanted; ++a) out[a] = extra_[a] + statistics_.log_density(row, atoms_ + static_cast<std::size_t>(a) * width_);
      return;
    }
    switch (d_) {
      case 2:
        return gaussian<2>(row, wanted, likely, far, out);
      case 3:
        return gaussian<3>(row, wanted, likely, far, out);
      case 4:
        return gaussian<4>(row, wanted, likely, far, out);
      case 6:
        return gaussian<6>(row, wanted, likely, far, out);
      case 8:
        return gaussian<8>(row, wanted, likely, far, out);
      default:
        return gaussian<0>(row, wanted, likely, far, out);
    }
  }

 private:
  // Upper triangular R with RᵀR = Λ = M Mᵀ, from Mᵀ row by row; full storage.
  void factor(const double* m, double* r) const {
    for (int k = 0; k < d_; ++k)
      for (int i = k; i < d_; ++i) {
        double s = 0.0;
        for (int l = 0; l < d_; ++l) s += m[l * d_ + k] * m[l * d_ + i];
        for (int l = 0; l < k; ++l) s -= r[l * d_ + k] * r[l * d_ + i];
        r[k * d_ + i] = i == k ? std::sqrt(s) : s / r[k * d_ + k];
      }
  }

  template <int D>
  void gaussian(int row, int wanted, int likely, double far, double* out) const {
    block<D>(row, likely / 8, -HUGE_VAL, out);
    const double least = out[likely] - far;
    for (int b = 0; 8 * b < wanted; ++b)
      if (b != likely / 8) block<D>(row, b, least, out);
  }

  // Half of the coordinates first: where they already put all eight below `least`, the rest is not worth it.
  template <int D>
  void block(int row, int b, double least, double* out) const {
    const int d = D > 0 ? D : d_, fields = 1 + d + d * (d + 1) / 2;
    const double* x = gaussian_->row(row);
    const double* lane = lanes_.data() + static_cast<std::size_t>(b) * 8 * fields;
    const double* entry = lane + 8 * (1 + d);
    double log_p[8], few[8 * (D > 0 ? D : 1)];
    double* z = D > 0 ? few : z_.data();
    for (int l = 0; l < 8; ++l) log_p[l] = lane[l];
    for (int i = 0; i < d; ++i)
      for (int l = 0; l < 8; ++l) z[8 * i + l] = x[i] - lane[8 * (1 + i) + l];
    for (int k = d - 1; k >= 0; --k) {
      double s[8] = {};
      for (int i = k; i < d; ++i, entry += 8)
        for (int l = 0; l < 8; ++l) s[l] += entry[l] * z[8 * i + l];
      for (int l = 0; l < 8; ++l) log_p[l] -= 0.5 * s[l] * s[l];
      if (k != d / 2) continue;
      double top = log_p[0];
      for (int l = 1; l < 8; ++l) top = std::max(top, log_p[l]);
      if (top < least) {
        for (int l = 0; l < 8; ++l) log_p[l] = -HUGE_VAL;
        break;
      }
    }
    for (int l = 0; l < 8; ++l) out[8 * b + l] = log_p[l];
  }

  Statistics& statistics_;
  const GaussianWishart* gaussian_;
  int width_, d_ = 0;
  const double* atoms_ = nullptr;
  const double* extra_ = nullptr;
  AlignedVector<double> lanes_;
  mutable std::vector<double> z_;
};

}  // namespace hedgerow
