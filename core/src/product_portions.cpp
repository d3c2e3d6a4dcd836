// Clusters of rows that count in part under a product: those of its parts, side by side; logs add up.
#include <algorithm>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihoods/product.hpp"

namespace hedgerow {
namespace {

class ProductPortions final : public Portions {
 public:
  explicit ProductPortions(std::vector<std::unique_ptr<Portions>> parts) : parts_(std::move(parts)) {}

  void open(std::span<const int> rows, int slots) override {
    work_.resize(padded(static_cast<int>(rows.size())));
    for (const auto& part : parts_) part->open(rows, slots);
  }
  double weigh(int slot, const double* weights) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->weigh(slot, weights);
    return total;
  }

  // The atoms of the parts, one after the other.
  int atom_size() const override {
    int size = 0;
    for (const auto& part : parts_) size += part->atom_size();
    return size;
  }
  void middle_atom(int slot, double* atom) const override {
    for (const auto& part : parts_) {
      part->middle_atom(slot, atom);
      atom += part->atom_size();
    }
  }
  void draw_atom(int slot, Rng& rng, double* atom) const override {
    for (const auto& part : parts_) {
      part->draw_atom(slot, rng, atom);
      atom += part->atom_size();
    }
  }
  void log_densities(const double* atom, double* out) const override {
    parts_.front()->log_densities(atom, out);
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      atom += parts_[p - 1]->atom_size();
      parts_[p]->log_densities(atom, work_.data());
      for (std::size_t i = 0; i < work_.size(); ++i) out[i] += work_[i];
    }
  }

  bool pays() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->pays(); });
  }

 private:
  std::vector<std::unique_ptr<Portions>> parts_;
  mutable AlignedVector<double> work_;
};

}  // namespace

std::unique_ptr<Portions> Product::portions() const {
  std::vector<std::unique_ptr<Portions>> parts;
  for (const auto& part : parts_) {
    parts.push_back(part->portions());
    if (!parts.back()) return nullptr;
  }
  return std::make_unique<ProductPortions>(std::move(parts));
}

}  // namespace hedgerow
