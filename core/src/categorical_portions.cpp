// Clusters of rows that count in part, for columns of levels.
//
// Neighbouring columns are read together as one column of their joint levels, as long as these are few next to the rows of the window:
// counts of joint levels are folded into those of the columns, and log probabilities of joint levels built up from theirs. An
// entry that is missing is one more level, of log probability 0. An atom is that of the family's Statistics.
#include <algorithm>
#include <cmath>
#include <vector>

#include "hedgerow/counting.hpp"
#include "hedgerow/likelihoods/categorical.hpp"
#include "hedgerow/special.hpp"

namespace hedgerow {
namespace {

constexpr int kRowsEach = 8, kMostJoint = 1024;  // rows to a joint level at least, as a level costs some; levels that stay near at hand

class CategoricalPortions final : public Portions {
 public:
  explicit CategoricalPortions(const Categorical& family) : f_(family) {}

  void open(std::span<const int> rows, int slots) override {
    room_ = padded(static_cast<int>(rows.size()));
    shapes_.resize(static_cast<std::size_t>(slots) * f_.cells());
    totals_.resize(static_cast<std::size_t>(slots) * f_.columns());
    group();
    codes_.assign(static_cast<std::size_t>(room_) * groups_.size(), 0);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int32_t* x = f_.row(rows[i]);
        int code = 0;
        for (int j = groups_[g].first; j < groups_[g].last; ++j)
          code = code * width(j) + (x[j] == Categorical::kMissing ? levels(j) : x[j] - f_.first(j));
        codes_[g * room_ + i] = code;
      }
  }

  double weigh(int slot, const double* weights) override {
    double total = 0.0;
    known_n_ = -1.0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::int32_t* code = codes_.data() + g * room_;
      joint_.assign(groups_[g].levels, 0.0);
      for (int i = 0; i < room_; ++i) joint_[code[i]] += weights[i];
      int left = groups_[g].levels;
      for (int j = groups_[g].last - 1; j >= groups_[g].first; --j) {
        fold(j, left);
        left /= width(j);
        total += column(slot, j);
      }
    }
    return total;
  }

  int atom_size() const override { return f_.cells(); }

  void middle_atom(int slot, double* atom) const override {
    for (int j = 0; j < f_.columns(); ++j)
      for (int t = f_.first(j); t < f_.first(j + 1); ++t)
        atom[t] = std::log(shapes_[first(slot) + t] / totals_[static_cast<std::size_t>(slot) * f_.columns() + j]);
  }

  void draw_atom(int slot, Rng& rng, double* atom) const override {
    for (int t = 0; t < f_.cells(); ++t) atom[t] = rng.log_gamma_variate(shapes_[first(slot) + t]);
    for (int j = 0; j < f_.columns(); ++j) {
      const double total = log_sum(atom + f_.first(j), levels(j));
      for (int t = f_.first(j); t < f_.first(j + 1); ++t) atom[t] -= total;
    }
  }

  void log_densities(const double* atom, double* out) const override {
    std::fill_n(out, room_, 0.0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      joint_.resize(groups_[g].levels);
      joint_[0] = 0.0;
      for (int j = groups_[g].first, before = 1; j < groups_[g].last; before *= width(j++))
        for (int r = before - 1; r >= 0; --r) {  // from the end: what is read is not yet written over
          const double so_far = joint_[r];
          double* to = joint_.data() + r * width(j);
          for (int l = 0; l < width(j); ++l) to[l] = so_far + (l < levels(j) ? f_.power() * atom[f_.first(j) + l] : 0.0);
        }
      const std::int32_t* code = codes_.data() + g * room_;
      for (int i = 0; i < room_; ++i) out[i] += joint_[code[i]];
    }
  }
  bool pays() const override { return false; }

 private:
  struct Group {
    int first, last, levels;  // columns first..last-1
  };
  int levels(int j) const { return f_.first(j + 1) - f_.first(j); }
  int width(int j) const { return levels(j) + f_.gap(j); }
  std::size_t first(int slot) const { return static_cast<std::size_t>(slot) * f_.cells(); }

  void group() {
    groups_.clear();
    for (int j = 0; j < f_.columns(); ++j) {
      if (groups_.empty() || groups_.back().levels > std::min(room_ / kRowsEach, kMostJoint) / width(j)) groups_.push_back({j, j, 1});
      groups_.back().last = j + 1;
      groups_.back().levels *= width(j);
    }
    count_.resize(f_.cells());
  }

  // The counts of column j, the last of those that the first `left` joint levels are of, and those of the joint levels of the others.
  void fold(int j, int left) {
    double* count = count_.data() + f_.first(j);
    const int own = levels(j), step = width(j);
    std::fill_n(count, own, 0.0);
    for (int r = 0, at = 0; at < left; ++r, at += step) {
      double sum = own < step ? joint_[at + own] : 0.0;
      for (int l = 0; l < own; ++l) {
        sum += joint_[at + l];
        count[l] += joint_[at + l];
      }
      joint_[r] = sum;
    }
  }

  double column(int slot, int j) {
    double total = 0.0, n = 0.0;
    for (int t = f_.first(j); t < f_.first(j + 1); ++t) {
      const double count = f_.power() * count_[t];
      n += count;
      shapes_[first(slot) + t] = f_.beta(t) + count;
      if (count > 0.0) total += log_rising_any(f_.beta(t), count);
    }
    const double beta = f_.beta(f_.cells() + j);
    totals_[static_cast<std::size_t>(slot) * f_.columns() + j] = beta + n;
    if (beta != known_beta_ || std::abs(n - known_n_) > 1e-13 * n) rise_ = log_rising_any(known_beta_ = beta, known_n_ = n);
    return total - rise_;
  }

  const Categorical& f_;
  int room_ = 0;
  double known_beta_ = 0.0, known_n_ = -1.0, rise_ = 0.0;  // most columns have the same total
  std::vector<Group> groups_;
  std::vector<std::int32_t> codes_;  // joint levels, group by group
  std::vector<double> shapes_, totals_, count_;
  mutable std::vector<double> joint_;
};

}  // namespace

std::unique_ptr<Portions> Categorical::portions() const { return std::make_unique<CategoricalPortions>(*this); }

}  // namespace hedgerow
