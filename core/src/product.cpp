// Statistics of a product: those of its parts, side by side; logs add up.
#include "hedgerow/likelihoods/product.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <typeinfo>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihoods/multinomial.hpp"

namespace hedgerow {
namespace {

class ProductStatistics final : public Statistics {
 public:
  ProductStatistics(const Product& family, Layout layout) : family_(family) {
    for (int i = 0; i < family.parts(); ++i) parts_.push_back(family.part(i).statistics(layout));
    bool drawn = true;
    for (const auto& part : parts_) {
      drawn = drawn && part->atom_size() > 0;
      atom_size_ += part->atom_size();
    }
    if (!drawn) atom_size_ = 0;
  }

  int slots() const override {
    int least = parts_.front()->slots();
    for (const auto& part : parts_) least = std::min(least, part->slots());
    return least;
  }
  void reserve(int slots) override {
    for (const auto& part : parts_) part->reserve(slots);
  }
  void clear(int slot) override {
    for (const auto& part : parts_) part->clear(slot);
  }
  void reset(int wanted) override {
    for (const auto& part : parts_) part->reset(wanted);
  }
  void copy(int slot, int from) override {
    for (const auto& part : parts_) part->copy(slot, from);
  }
  void load(int slot, Statistics& other, int from) override {
    auto& source = static_cast<ProductStatistics&>(other);
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->load(slot, *source.parts_[i], from);
  }
  void add(int slot, int row) override {
    for (const auto& part : parts_) part->add(slot, row);
  }
  void add_each(std::span<const int> slots) override {
    for (const auto& part : parts_) part->add_each(slots);
  }
  bool remove(int slot, int row) override {
    bool precise = true;
    for (const auto& part : parts_) precise = part->remove(slot, row) && precise;
    return precise;
  }
  void merge(int slot, int other) override {
    for (const auto& part : parts_) part->merge(slot, other);
  }

  // Every part with its length before it.
  void pack(int slot, std::vector<double>& out) override {
    for (const auto& part : parts_) {
      const std::size_t at = out.size();
      out.push_back(0.0);
      part->pack(slot, out);
      out[at] = static_cast<double>(out.size() - at - 1);
    }
  }
  void unpack(int slot, std::span<const double> data) override {
    for (const auto& part : parts_) {
      if (data.size() == 0 || !(data[0] >= 0.0 && data[0] <= static_cast<double>(data.size() - 1)))
        throw std::invalid_argument("packed statistics of another shape");
      const auto length = static_cast<std::size_t>(data[0]);
      part->unpack(slot, data.subspan(1, length));
      data = data.subspan(length + 1);
    }
    if (data.size() != 0) throw std::invalid_argument("packed statistics of another shape");
  }

  bool same_counts(int slot, int other) override {
    return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) { return part->same_counts(slot, other); });
  }

  double log_marginal(int slot) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->log_marginal(slot);
    return total;
  }
  double log_predictive(int row, int slot) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->log_predictive(row, slot);
    return total;
  }
  double log_predictive_without(int row, int slot) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->log_predictive_without(row, slot);
    return total;
  }
  void log_predictive_front(int row, int k, double* out) override {
    parts_.front()->log_predictive_front(row, k, out);
    work_.resize(padded(k));
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      parts_[i]->log_predictive_front(row, k, work_.data());
      for (int s = 0; s < k; ++s) out[s] += work_[s];
    }
  }
  void log_marginal_merged(int slot, std::span<const int> others, double* out) override {
    const int k = static_cast<int>(others.size());
    parts_.front()->log_marginal_merged(slot, others, out);
    work_.resize(padded(k));
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      parts_[i]->log_marginal_merged(slot, others, work_.data());
      for (int s = 0; s < k; ++s) out[s] += work_[s];
    }
  }

  void log_observed_front(int row, int k, double* out) override {
    parts_.front()->log_observed_front(row, k, out);
    work_.resize(padded(k));
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      parts_[i]->log_observed_front(row, k, work_.data());
      for (int s = 0; s < k; ++s) out[s] += work_[s];
    }
  }
  double log_observed(int row, int slot) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->log_observed(row, slot);
    return total;
  }
  double impute(int row, int slot, Rng& rng, bool whole) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->impute(row, slot, rng, whole);
    family_.derive(&row, 1);
    return total;
  }

  double log_tilt(int row, int empty) override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->log_tilt(row, empty);
    return total;
  }

  // θ = the atoms of the parts, one after the other; none if a part has none.
  int atom_size() const override { return atom_size_; }
  void draw_atom(int slot, Rng& rng, double* atom) override {
    for (const auto& part : parts_) {
      part->draw_atom(slot, rng, atom);
      atom += part->atom_size();
    }
  }
  double log_density(int row, const double* atom) override { return total(&Statistics::log_density, row, atom); }
  double log_observed_density(int row, const double* atom) override { return total(&Statistics::log_observed_density, row, atom); }
  void impute_given(int row, const double* atom, Rng& rng) override {
    for (const auto& part : parts_) {
      part->impute_given(row, atom, rng);
      atom += part->atom_size();
    }
    family_.derive(&row, 1);
  }

 private:
  double total(double (Statistics::*density)(int, const double*), int row, const double* atom) {
    double sum = 0.0;
    for (const auto& part : parts_) {
      sum += (*part.*density)(row, atom);
      atom += part->atom_size();
    }
    return sum;
  }

  const Product& family_;
  std::vector<std::unique_ptr<Statistics>> parts_;
  AlignedVector<double> work_;
  int atom_size_ = 0;
};

}  // namespace

Product::Product(std::vector<std::shared_ptr<Likelihood>> parts) : parts_(std::move(parts)) {
  if (parts_.empty()) throw std::invalid_argument("a product needs at least one part");
  power_ = parts_.front()->power();
  for (const auto& part : parts_)
    if (part->rows() != rows() || part->power() != power_)
      throw std::invalid_argument("all parts must have the same rows, at the same power");
  std::vector<int> all(rows());
  for (int i = 0; i < rows(); ++i) all[i] = i;
  derive(all.data(), rows());
}

void Product::take(const Likelihood& other, const int* to) {
  const auto& o = dynamic_cast<const Product&>(other);
  // What a part could refuse is looked for in all of them first: none may change when another would not.
  if (o.parts() != parts()) throw std::invalid_argument("rows must have the same parts");
  for (int i = 0; i < parts(); ++i) {
    const Likelihood &mine = *parts_[i], &theirs = *o.parts_[i];
    if (typeid(mine) != typeid(theirs)) throw std::invalid_argument("rows must have the same parts");
    if (const auto* counts = dynamic_cast<const Multinomial*>(&mine))
      if (counts->grand_total() + static_cast<const Multinomial&>(theirs).grand_total() > 2000000000)
        throw std::invalid_argument("the counts must sum to less than 2e9");
  }
  for (int i = 0; i < parts(); ++i) parts_[i]->take(*o.parts_[i], to);
  derive(to, o.rows());
}

void Product::derive(const int* rows, int n) const {
  log_single_.resize(this->rows());
  for (int i = 0; i < n; ++i) {
    double total = 0.0;
    for (const auto& part : parts_) total += part->log_single()[rows[i]];
    log_single_[rows[i]] = total;
  }
}

std::vector<int> Product::imputed_rows() const {
  std::vector<int> rows;
  for (const auto& part : parts_) {
    const std::vector<int> own = part->imputed_rows();
    std::vector<int> both;
    std::set_union(rows.begin(), rows.end(), own.begin(), own.end(), std::back_inserter(both));
    rows = std::move(both);
  }
  return rows;
}

std::shared_ptr<Likelihood> Product::fork() const {
  std::vector<std::shared_ptr<Likelihood>> parts = parts_;
  bool forked = false;
  for (auto& part : parts)
    if (auto own = part->fork()) {
      part = std::move(own);
      forked = true;
    }
  return forked ? std::make_shared<Product>(std::move(parts)) : nullptr;
}

void Product::save_filling(int row, std::vector<double>& out) const {
  for (const auto& part : parts_) part->save_filling(row, out);
}

std::span<const double> Product::load_filling(int row, std::span<const double> in) const {
  for (const auto& part : parts_) in = part->load_filling(row, in);
  derive(&row, 1);
  return in;
}

bool Product::serial() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->serial(); });
}

std::unique_ptr<Statistics> Product::statistics(Layout layout) const { return std::make_unique<ProductStatistics>(*this, layout); }

}  // namespace hedgerow
