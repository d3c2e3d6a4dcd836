// The lists of rows that sweeps visit, and whose turn it is.
#include "hedgerow/kernels/watched_sweeps.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace hedgerow {
namespace {
constexpr double kDoubt = 0.99;  // of all expected moves of a sweep fall to the doubtful rows
constexpr int kTurns = 8;        // steady rows are visited in one sweep of so many
}  // namespace

void WatchedSweeps::all(State& state, bool watched) {
  if (!watched) return gibbs_.step(state);
  const int n = state.partition.rows();
  if (static_cast<int>(watch_.opening.size()) != n) watch_.start(n);
  gibbs_.watch(&watch_);
  gibbs_.step(state);
  gibbs_.watch(nullptr);
}

void WatchedSweeps::fix_lists(int n) {
  doubtful_.clear();
  steady_.clear();
  double least = 0.0;
  if (!watch_.empty()) {
    std::vector<double> moving = watch_.moving;
    std::sort(moving.begin(), moving.end());
    double rest = (1.0 - kDoubt) * std::accumulate(moving.begin(), moving.end(), 0.0);
    for (double chance : moving) {
      least = chance;
      if ((rest -= chance) < 0.0) break;
    }
  }
  for (int i = 0; i < n; ++i) (watch_.empty() || watch_.moving[i] >= least ? doubtful_ : steady_).push_back(i);
}

double WatchedSweeps::visited() const { return static_cast<double>(doubtful_.size()) + static_cast<double>(steady_.size()) / kTurns; }

void WatchedSweeps::turn(State& state) {
  const std::size_t begin = steady_.size() * next_ / kTurns;
  next_ = (next_ + 1) % kTurns;
  const std::size_t end = next_ == 0 ? steady_.size() : steady_.size() * next_ / kTurns;
  gibbs_.sweep(state, std::span(steady_).subspan(begin, end - begin));
  gibbs_.sweep(state, doubtful_);
}

void WatchedSweeps::save(Carried& out) const {
  out.counters.insert(out.counters.end(), {next_, watch_.sweeps, !watch_.empty()});
  out.real.insert(out.real.end(), watch_.opening.begin(), watch_.opening.end());
  out.real.insert(out.real.end(), watch_.moving.begin(), watch_.moving.end());
}

void WatchedSweeps::load(CarriedReader& in, int rows, bool fixed) {
  next_ = in.counter();
  if (next_ < 0 || next_ >= kTurns) throw std::invalid_argument("a kernel's memory has a turn that does not exist");
  watch_ = {};
  watch_.sweeps = in.counter();
  if (watch_.sweeps < 0) throw std::invalid_argument("a kernel's memory has seen a negative number of sweeps");
  if (in.counter() != 0) {
    watch_.opening = in.reals(rows);
    watch_.moving = in.reals(rows);
    for (const std::vector<double>* chances : {&watch_.opening, &watch_.moving})
      for (double p : *chances)
        if (!(p >= -1e-9 && p <= 1.0 + 1e-9)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
  }
  if (fixed) fix_lists(rows);
}

}  // namespace hedgerow
