// The lists of rows that sweeps visit, and whose turn it is.
#include "hedgerow/kernels/watched_sweeps.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace hedgerow {
namespace {
constexpr double kDoubt = 0.99;   // of all expected moves of a sweep fall to the doubtful rows
constexpr int kTurns = 8;         // steady rows are visited in one sweep of so many
constexpr int kEnough = 4000;     // rows of a sweep of the warm-up, beside those in doubt
constexpr double kUnsure = 0.01;  // chance to move of these
}  // namespace

// Once all rows were seen a sweep need not visit those that are certainly at home, but for a share of them that does not grow with n.
void WatchedSweeps::climb(State& state, bool settled) {
  const int n = state.partition.rows();
  watch_.turns = std::max(1, n / kEnough);
  if (watch_.turns == 1 && !settled) return gibbs_.step(state);
  const bool first = static_cast<int>(watch_.opening.size()) != n;
  if (first) watch_.start(n);
  if (settled && !std::exchange(settled_, true)) watch_.sweeps = 0;
  due_.clear();
  const int turn = watch_.sweeps % watch_.turns;
  for (int i = 0; i < n; ++i)
    if (first || i % watch_.turns == turn || watch_.moving[i] >= kUnsure) due_.push_back(i);
  gibbs_.watch(&watch_);
  gibbs_.sweep(state, due_);
  gibbs_.watch(nullptr);
}

void WatchedSweeps::fix_lists(int n) {
  doubtful_.clear();
  steady_.clear();
  std::vector<int>().swap(due_);
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
  out.counters.insert(out.counters.end(), {next_, watch_.sweeps, watch_.empty() ? 0 : settled_ ? 1 : 2});
  out.real.insert(out.real.end(), watch_.opening.begin(), watch_.opening.end());
  out.real.insert(out.real.end(), watch_.moving.begin(), watch_.moving.end());
}

void WatchedSweeps::load(CarriedReader& in, int rows, bool fixed) {
  next_ = in.counter();
  if (next_ < 0 || next_ >= kTurns) throw std::invalid_argument("a kernel's memory has a turn that does not exist");
  watch_ = {};
  watch_.sweeps = in.counter();
  if (watch_.sweeps < 0) throw std::invalid_argument("a kernel's memory has seen a negative number of sweeps");
  const int seen = in.counter();
  if (seen < 0 || seen > 2) throw std::invalid_argument("a kernel's memory has seen rows in a way there is not");
  settled_ = seen == 1;
  if (seen != 0) {
    watch_.opening = in.reals(rows);
    watch_.moving = in.reals(rows);
    for (const std::vector<double>* chances : {&watch_.opening, &watch_.moving})
      for (double p : *chances)
        if (!(p >= -1e-9 && p <= 1.0 + 1e-9)) throw std::invalid_argument("a kernel's memory has probabilities outside [0, 1]");
  }
  if (fixed) fix_lists(rows);
}

}  // namespace hedgerow
