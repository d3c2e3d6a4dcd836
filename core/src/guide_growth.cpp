// When guides are grown, and how they are carried on.
#include "hedgerow/kernels/guide_growth.hpp"

#include <stdexcept>

namespace hedgerow {
namespace {
constexpr double kAgain[] = {0.0, 0.5};  // shares of the warm-up at which guides are grown
constexpr int kTimes = 2, kOnce = 3;     // now, and in files of earlier versions

void save_tree(const WeightedGuide& guide, Carried& out) {
  const int n = guide.tree.rows();
  Induced all;
  guide.tree.induce(guide.tree.order, all);
  for (const std::vector<int>* side : {&all.left, &all.right})
    for (int child : *side) out.whole.push_back(child < 0 ? all.rows[~child] : n + child);
  out.real.insert(out.real.end(), guide.split_probability.begin(), guide.split_probability.end());
}

std::shared_ptr<const WeightedGuide> load_tree(CarriedReader& in, std::size_t n) {
  std::vector<int> sides[2], nodes;
  for (std::vector<int>& side : sides) {
    side.assign(n, -1);
    const std::vector<int> inner = in.wholes(n - 1);
    side.insert(side.end(), inner.begin(), inner.end());
  }
  auto guide = std::make_shared<WeightedGuide>();
  guide->tree = Guide(sides[0], sides[1], &nodes);
  const std::vector<double> probabilities = in.reals(n - 1);
  for (double p : probabilities)
    if (!(p >= 0.0 && p <= 1.0)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
  for (int v : nodes) guide->split_probability.push_back(static_cast<float>(probabilities[v - n]));
  return guide;
}
}  // namespace

GuideGrowth::GuideGrowth(Guides given, GuideSource source) : guides_(std::move(given)), source_(source) {
  if (!guides_.empty()) source_.wanted = 0;
}

std::shared_ptr<const GrownGuide> GuideGrowth::take(State& state, int which) {
  const Likelihood& likelihood = state.partition.likelihood();
  whole_ = !likelihood.imputed_rows().empty();
  const std::uint64_t set = static_cast<std::uint64_t>(source_.wanted), own = source_.sequence % set;
  const std::uint64_t number = source_.sequence - own + (own + static_cast<std::uint64_t>(which)) % set;
  return likelihood.guides().get(likelihood, state.measure.prior(), state.partition.groups(), source_.seed, number);
}

// Up to so many.
void GuideGrowth::grow(State& state, int count) {
  for (int g = static_cast<int>(guides_.size()); g < count; ++g) {
    const auto grown = take(state, g);
    guides_.emplace_back(grown, &grown->guide);
  }
}

void GuideGrowth::follow(State& state, double progress) {
  if (source_.wanted == 0 || growths_ >= kTimes || progress < kAgain[growths_]) return;
  if (++growths_ == kTimes) return grow(state, source_.wanted);
  const auto own = take(state, 0);
  guides_.emplace_back(own, &own->guide);
  if (!state.settled) take_higher(state, own->labels());
}

void GuideGrowth::end(State& state) {
  if (guides_.empty() && state.partition.rows() > 1) grow(state, source_.wanted);
}

// Below 0, as ~count: then which run's they are, which is all that is needed to grow them again, and whole trees where it is not. Earlier
// versions wrote the count itself and always whole trees.
void GuideGrowth::save(Carried& out) const {
  if (source_.wanted == 0) return;
  const int count = static_cast<int>(guides_.size());
  out.whole.insert(out.whole.end(), {growths_, ~count});
  for (std::uint64_t word : {source_.seed, source_.sequence})
    for (int half : {0, 32}) out.whole.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> half)));
  out.whole.push_back(whole_);
  for (int g = 0; whole_ && g < count; ++g) save_tree(*guides_[g], out);
}

void GuideGrowth::load(State& state, CarriedReader& in, bool ended) {
  if (source_.wanted == 0) return;
  const std::size_t n = static_cast<std::size_t>(state.partition.rows());
  growths_ = in.whole();
  const int stored = in.whole(), count = stored < 0 ? ~stored : stored;
  const bool none = count == 0 && (growths_ > 0 || (ended && n > 1));
  if (growths_ < 0 || growths_ > kOnce || count > source_.wanted || none)
    throw std::invalid_argument("a kernel's memory has guides it cannot have grown");
  whole_ = count > 0;
  if (stored < 0) {
    for (std::uint64_t* word : {&source_.seed, &source_.sequence}) {
      const std::uint64_t low = static_cast<std::uint32_t>(in.whole());
      *word = low | static_cast<std::uint64_t>(static_cast<std::uint32_t>(in.whole())) << 32;
    }
    whole_ = in.whole() != 0;
  }
  guides_.clear();
  if (!whole_) return grow(state, count);
  for (int g = 0; g < count; ++g) guides_.push_back(load_tree(in, n));
}

}  // namespace hedgerow
