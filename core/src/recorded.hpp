// Statistics as one record of numbers a slot, and panels of eight clusters that are made anew where a record has changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hedgerow/aligned.hpp"
#include "hedgerow/likelihood.hpp"
#include "simd.hpp"

namespace hedgerow {

template <class Number>
class Recorded : public Statistics {
 public:
  int slots() const override { return slots_; }

  void reserve(int slots) override {
    if (slots <= slots_) return;
    slots = std::max(slots, std::min(2 * slots_, slots_ + (1 << 20)));
    records_.resize(static_cast<std::size_t>(slots) * width_, Number{});
    const int old = slots_;
    slots_ = slots;
    if (!clusters_) return;
    panel_.resize(static_cast<std::size_t>(padded(slots)) * fields_, padding_);
    stale_.resize(padded(slots), 0);
    for (int s = old; s < slots; ++s) touch(s);
  }

  void clear(int slot) override {
    std::fill_n(record(slot), width_, Number{});
    touch(slot);
  }

  void copy(int slot, int from) override {
    std::copy_n(record(from), width_, record(slot));
    touch(slot);
  }

  void load(int slot, Statistics& other, int from) override {
    std::copy_n(static_cast<Recorded&>(other).record(from), width_, record(slot));
    touch(slot);
  }

  void pack(int slot, std::vector<double>& out) override { out.insert(out.end(), record(slot), record(slot) + width_); }

 protected:
  // A panel has `fields` numbers a cluster; those of slots that nobody uses are `padding`.
  Recorded(int width, int fields, Layout layout, double padding = 0.0)
      : width_(width), fields_(fields), clusters_(layout == Layout::clusters), padding_(padding) {}

  Number* record(int slot) { return records_.data() + static_cast<std::size_t>(slot) * width_; }
  int width() const { return width_; }
  const double* panel() const { return panel_.data(); }

  // The numbers of a slot in its panel lie kLanes apart.
  double* lane(int slot) { return panel_.data() + static_cast<std::size_t>(slot / kLanes) * kLanes * fields_ + slot % kLanes; }

  void touch(int slot) {
    if (!clusters_ || stale_[slot]) return;
    stale_[slot] = 1;
    stale_list_.push_back(slot);
  }

  void touch_all() {
    for (int s = 0; s < slots_; ++s) touch(s);
  }

  template <class Refresh>
  void refresh_stale(Refresh refresh) {
    for (int s : stale_list_) {
      refresh(s);
      stale_[s] = 0;
    }
    stale_list_.clear();
  }

 private:
  int width_, fields_;
  bool clusters_;
  double padding_;
  int slots_ = 0;
  std::vector<Number> records_;
  AlignedVector<double> panel_;
  std::vector<unsigned char> stale_;
  std::vector<int> stale_list_;
};

}  // namespace hedgerow
