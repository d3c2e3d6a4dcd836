// Groups of columns under likelihoods of their own, independent given the cluster: mixed tables.
#pragma once

#include "hedgerow/likelihood.hpp"

namespace hedgerow {

class Product final : public Likelihood {
 public:
  // All parts have the same rows.
  explicit Product(std::vector<std::shared_ptr<Likelihood>> parts);

  int rows() const override { return parts_.front()->rows(); }
  int parts() const { return static_cast<int>(parts_.size()); }
  const Likelihood& part(int i) const { return *parts_[i]; }
  bool serial() const override;
  std::unique_ptr<Statistics> statistics(Layout layout) const override;
  std::unique_ptr<Portions> portions() const override;
  void take(const Likelihood& other, const int* to) override;
  std::vector<int> imputed_rows() const override;
  std::shared_ptr<Likelihood> fork() const override;
  void save_filling(int row, std::vector<double>& out) const override;
  std::span<const double> load_filling(int row, std::span<const double> in) const override;
  void derive(const int* rows, int n) const;  // log p of these rows alone, from those of the parts

 private:
  std::vector<std::shared_ptr<Likelihood>> parts_;
};

}  // namespace hedgerow
