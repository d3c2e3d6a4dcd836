// Kernels made of kernels.
#include "hedgerow/kernels/combine.hpp"

#include <cmath>

#include "hedgerow/special.hpp"

namespace hedgerow {

std::vector<std::string> Combined::stat_names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_)
    for (const std::string& name : part.kernel->stat_names()) names.push_back(part.name + "." + name);
  return names;
}

// Parts that did not run this iteration report NaN.
void Combined::stats(double* out) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::size_t count = parts_[i].kernel->stat_names().size();
    if (i < ran_.size() && ran_[i])
      parts_[i].kernel->stats(out);
    else
      for (std::size_t s = 0; s < count; ++s) out[s] = std::nan("");
    out += count;
  }
}

void Cycle::step(State& state) {
  ran_.assign(parts_.size(), 1);
  for (Part& part : parts_) part.kernel->step(state);
}

void Mix::step(State& state) {
  double total = 0.0;
  std::vector<double> weights;
  for (const Part& part : parts_) {
    weights.push_back(part.weight);
    total += part.weight;
  }
  const int chosen = draw_index(state.rng, weights.data(), static_cast<int>(weights.size()), total);
  ran_.assign(parts_.size(), 0);
  ran_[chosen] = 1;
  if (progress_ != kNone) parts_[chosen].kernel->adapt(state, progress_, length_);
  progress_ = kNone;
  parts_[chosen].kernel->step(state);
}

}  // namespace hedgerow
