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
  void take(const Likelihood& other, const int* to) override;

 private:
  void derive(const int* rows, int n);

  std::vector<std::shared_ptr<Likelihood>> parts_;
};

}  // namespace hedgerow
