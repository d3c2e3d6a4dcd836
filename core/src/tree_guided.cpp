// An iteration of TreeGuided, what its warm-up decides, and what is carried to the next iteration.
#include "hedgerow/kernels/tree_guided.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "hedgerow/kernels/annealed.hpp"

namespace hedgerow {
namespace {
constexpr int kMoves = 20;              // at most, of draws
constexpr double kLeastClimbing = 4e5;  // of the warm-up at least so many over the number of rows, and from 5 to kMoves
constexpr double kRenewal = 10.0;       // moves for each cluster of one row that is to be renewed
constexpr double kSingles = 0.1;        // of the rows visited, at most so many such moves
// Recasts cost so many sweeps where kInDoubt of the rows move in a sweep or more and one recast in 1/kSuccess or more is accepted.
constexpr double kRecasting = 1.5, kInDoubt = 0.1, kSuccess = 0.003;
constexpr double kUnseen = 100.0;     // recasts, as good as they need be, that count before any were seen
constexpr int kRemembered = 1000;     // recasts; of older ones half count
constexpr double kMostRecasts = 3.0;  // an iteration
constexpr double kSettled = 0.65;     // share of the warm-up from which what rows do is what they will do
}  // namespace

TreeGuided::TreeGuided(Guides given, GuideSource grown, int global_moves, int single_moves, double recasts, double sweep_rate)
    : growth_(std::move(given), grown),
      global_moves_(global_moves),
      single_moves_(single_moves),
      recasts_wanted_(recasts),
      sweep_rate_(sweep_rate) {}

std::unique_ptr<Kernel> TreeGuided::annealed(Guides given, GuideSource grown, int global_moves, int single_moves, double recasts,
                                             double sweep_rate) {
  auto kernel = std::make_unique<TreeGuided>(std::move(given), grown, global_moves, single_moves, recasts, sweep_rate);
  if (sweep_rate > 0.0) return std::make_unique<Annealed>(std::move(kernel));
  return kernel;
}

void TreeGuided::adapt(State& state, double progress, int) {
  growth_.follow(state, progress);
  settled_ = progress >= kSettled;
}

// So many global moves that they cost this share of a sweep over `visited` rows, in evaluations (one of a block against two
// halves costs about ten of a row against all clusters at once).
int TreeGuided::tuned_moves(const State& state, double visited, double share, double least, double most) {
  const double n = state.partition.rows(), k = state.partition.clusters();
  return static_cast<int>(std::clamp(share * visited * (k + 8.0) / (30.0 * n / k + 18.0 * k), least, most));
}

int TreeGuided::tuned_recasts(const State& state, double visited, double moving) const {
  const double n = state.partition.rows(), k = state.partition.clusters();
  const double success = (recasts_accepted_ + kSuccess * kUnseen) / (recasts_made_ + kUnseen);
  const double share = kRecasting * std::min(1.0, success / kSuccess) * std::min(1.0, moving / (kInDoubt * n));
  return static_cast<int>(1000.0 * std::min(kMostRecasts, share * visited * (k + 8.0) / Recasts::work(state.partition)));
}

void TreeGuided::recast(State& state) {
  const int n = state.partition.rows();
  recasts_.forget();
  if (recasts_wanted_ == 0.0 || n == 1 || !state.measure.trivial_q()) return;
  recasts_.attach(state);
  if (recasts_wanted_ == kTuned ? !recasts_.pays() : !recasts_.possible()) return;
  if (!drawing_) recasts_each_ = tuned_recasts(state, n, moved_);
  double left = recasts_wanted_ >= 0.0 ? recasts_wanted_ : 0.001 * recasts_each_;
  for (; left >= 1.0 || (left > 0.0 && state.rng.uniform() < left); left -= 1.0) recasts_.move(state);
  if (drawing_) return;
  recasts_made_ += recasts_.proposed();
  recasts_accepted_ += recasts_.accepted();
  while (recasts_made_ >= kRemembered) {
    recasts_made_ /= 2;
    recasts_accepted_ /= 2;
  }
}

// Where Gibbs mixes by itself every further move costs effective draws, where it does not they cost next to nothing: a sixth of
// a sweep. On small sets an iteration costs microseconds and there are at least a few, since chains are judged by the draw.
void TreeGuided::end_warm_up(State& state) {
  if (drawing_) return;
  const int n = state.partition.rows();
  growth_.end(state);
  sweeps_.fix_lists(n);
  singles_.set_weights(sweeps_.seen(), n);
  const double visited = sweeps_.visited();
  moves_each_ = global_moves_ != kTuned ? global_moves_ : tuned_moves(state, visited, 0.3, std::clamp(3000.0 / n, 2.0, 10.0), kMoves);
  singles_each_ =
      single_moves_ != kTuned ? single_moves_ : static_cast<int>(std::min(kRenewal * (1.0 + singles_.total()), kSingles * visited));
  const std::vector<double>& moving = sweeps_.seen().moving;
  recasts_each_ = tuned_recasts(state, visited, moving.empty() ? n : std::accumulate(moving.begin(), moving.end(), 0.0));
  drawing_ = true;
}

void TreeGuided::step(State& state) {
  const int n = state.partition.rows();
  const double least = std::clamp(kLeastClimbing / n, 5.0, static_cast<double>(kMoves));
  if (!drawing_) {
    const int most = global_moves_ != kTuned ? global_moves_ : tuned_moves(state, n, 0.5, least, kMostClimbing);
    moves_each_ = global_moves_ != kTuned ? global_moves_ : std::clamp(moves_each_, most / 4, most);
  }
  recast(state);
  moves_.step(state, growth_.guides(), n == 1 ? 0 : moves_each_);
  if (!drawing_) moves_each_ = moves_.accepted() > 0 ? kMostClimbing : moves_each_ / 2;
  sweeps_.gibbs().rest();
  singles_.step(state, sweeps_.gibbs(), drawing_ && n > 1 ? singles_each_ : 0);
  if (sweep_rate_ < 1.0 && state.rng.uniform() >= sweep_rate_) return;
  drawing_ ? sweeps_.turn(state) : sweeps_.climb(state, settled_);
  if (!drawing_) moved_ = static_cast<int>(sweeps_.gibbs().moved());
}

void TreeGuided::save(Carried& out) const {
  out.counters.insert(out.counters.end(),
                      {drawing_, moves_each_, singles_each_, recasts_each_, recasts_made_, recasts_accepted_, moved_});
  sweeps_.save(out);
  growth_.save(out);
}

void TreeGuided::load(State& state, CarriedReader& in) {
  const int n = state.partition.rows();
  in.take_aside();
  if (in.first_layout()) in.set_aside_reals(1);
  drawing_ = in.counter() != 0;
  if (!drawing_ && !in.warming()) throw std::invalid_argument("a kernel's memory is of a warm-up that is over");
  moves_each_ = in.counter();
  singles_each_ = in.counter();
  if (!in.first_layout()) {
    recasts_each_ = in.counter();
    recasts_made_ = in.counter();
    recasts_accepted_ = in.counter();
    moved_ = in.counter();
    const bool counts = 0 <= recasts_accepted_ && recasts_accepted_ <= recasts_made_ && recasts_made_ < kRemembered && moved_ >= 0;
    if (!counts || recasts_each_ < 0 || recasts_each_ > 1000.0 * kMostRecasts)
      throw std::invalid_argument("a kernel's memory has a number of moves that it cannot have");
  }
  const bool few =
      moves_each_ <= std::max(global_moves_, drawing_ ? kMoves : kMostClimbing) && singles_each_ <= std::max(single_moves_, n);
  if (moves_each_ < 0 || singles_each_ < 0 || !few)
    throw std::invalid_argument("a kernel's memory has a number of moves that it cannot have");
  sweeps_.load(in, n, drawing_);
  if (drawing_) singles_.set_weights(sweeps_.seen(), n);
  if (in.first_layout()) {  // here 0.1.0 wrote what annealing remembers: its stage, then four partitions or none
    in.set_aside_wholes(1);
    for (int i = 0; i < 4; ++i)
      if (in.set_aside_wholes(1) == 1) in.set_aside_wholes(n);
  }
  growth_.load(state, in, drawing_);
}

std::vector<std::string> TreeGuided::stat_names() const {
  std::vector<std::string> names = GuidedMoves::stat_names();
  names.insert(names.end(), {"births", "deaths", "moved", "recasts", "recasts_accepted"});
  return names;
}

void TreeGuided::stats(double* out) const {
  moves_.stats(out);
  out[5] = singles_.births();
  out[6] = singles_.deaths();
  sweeps_.gibbs().stats(out + 7);
  out[8] = recasts_.proposed();
  out[9] = recasts_.accepted();
}

}  // namespace hedgerow
