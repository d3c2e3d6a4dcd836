// A chain: one iteration moves the partition, then u, then the hyper-parameters.
#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "hedgerow/imputation.hpp"
#include "hedgerow/kernel.hpp"

namespace hedgerow {

static std::vector<int> count_groups(const std::vector<int>& groups, int rows, int T) {
  std::vector<int> sizes(T, 0);
  if (groups.empty()) sizes[0] = rows;
  for (int t : groups) ++sizes[t];
  return sizes;
}

int CarriedReader::counter() {
  if (from_.counters.empty()) return whole();
  if (counter_ == from_.counters.size()) throw std::invalid_argument("a kernel's memory ends early");
  return from_.counters[counter_++];
}

std::vector<int> CarriedReader::wholes(std::size_t count) {
  if (count > from_.whole.size() - whole_) throw std::invalid_argument("a kernel's memory ends early");
  const auto begin = from_.whole.begin() + static_cast<std::ptrdiff_t>(whole_);
  whole_ += count;
  return std::vector<int>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

std::vector<double> CarriedReader::reals(std::size_t count) {
  if (count > from_.real.size() - real_) throw std::invalid_argument("a kernel's memory ends early");
  const auto begin = from_.real.begin() + static_cast<std::ptrdiff_t>(real_);
  real_ += count;
  return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

std::vector<int> CarriedReader::labels(int rows) {
  std::vector<int> found = wholes(static_cast<std::size_t>(rows));
  std::vector<char> used(found.size(), 0);
  for (int c : found) {
    if (c < 0 || c >= rows) throw std::invalid_argument("a kernel's memory has labels out of range");
    used[c] = 1;
  }
  if (!std::is_sorted(used.begin(), used.end(), std::greater<>()))
    throw std::invalid_argument("a kernel's memory has labels that skip a number");
  return found;
}

int CarriedReader::set_aside_wholes(std::size_t count) {
  const std::vector<int> numbers = wholes(count);
  aside_.whole.insert(aside_.whole.end(), numbers.begin(), numbers.end());
  return numbers.back();
}

void CarriedReader::set_aside_reals(std::size_t count) {
  const std::vector<double> numbers = reals(count);
  aside_.real.insert(aside_.real.end(), numbers.begin(), numbers.end());
}

State::State(const Likelihood& likelihood, const Prior& prior, std::vector<int> groups, Rng rng_)
    : measure(prior, count_groups(groups, likelihood.rows(), prior.groups)),
      partition(likelihood, measure, std::move(groups)),
      rng(rng_) {}

double State::log_joint() { return measure.log_partition(partition.sizes(), partition.log_q()) + partition.log_likelihood(); }

void State::update_measure() {
  if (update_u) measure.update_u(rng, partition.sizes(), partition.log_q());
  if (update_hyper) measure.update_hyper(rng, partition.sizes(), partition.log_q(), update_u);
}

void take_higher(State& state, const std::vector<int>& labels) {
  const std::vector<int> own = state.partition.labels();
  const double before = state.log_joint();
  state.partition.assign(labels);
  if (state.log_joint() < before) state.partition.assign(own);
}

Chain::Chain(std::shared_ptr<const Likelihood> likelihood, const Prior& prior, std::unique_ptr<Kernel> kernel,
             const std::vector<int>& labels, std::vector<int> groups, std::uint64_t seed, std::uint64_t sequence)
    : Chain(with_own_imputations(std::move(likelihood)), prior, std::move(kernel), std::move(groups), Rng(seed, sequence)) {
  state.partition.assign(labels);
}

Chain::Chain(std::shared_ptr<const Likelihood> own, const Prior& prior, std::unique_ptr<Kernel> kernel, std::vector<int> groups,
             Rng rng)
    : state(*own, prior, std::move(groups), rng),
      likelihood_(std::move(own)),
      kernel_(std::move(kernel)),
      imputes_(!likelihood_->imputed_rows().empty()) {}

void Chain::begin() {
  state.partition.rebuild();
  if (imputes_) impute_with_labels(state);
}

void Chain::iterate() {
  begin();
  iterate_from_here();
}

void Chain::iterate_from_here() {
  kernel_->step(state);
  state.update_measure();
}

// A kernel that replaces the partition as it adapts leaves it as `begin` does.
void Chain::warm_up(double progress, int length) {
  if (!warming_) throw std::logic_error("the warm-up of this chain is over");
  begin();
  kernel_->adapt(state, progress, length);
  iterate_from_here();
}

void Chain::end_warm_up() {
  if (!std::exchange(warming_, false)) return;
  state.partition.rebuild();
  kernel_->end_warm_up(state);
}

void Chain::save(Carried& out) const {
  likelihood_->save_imputed(out.real);
  kernel_->save(out);
}

void Chain::load(const Carried& from, bool warming, bool first_layout) {
  Carried carried{from.counters, from.whole, {}};
  if (imputes_) {
    const auto left = likelihood_->load_imputed(from.real);
    carried.real.assign(left.begin(), left.end());
    state.partition.rebuild();
  } else {
    carried.real = from.real;
  }
  CarriedReader reader(carried, warming, first_layout);
  kernel_->load(state, reader);
  if (!reader.at_end()) throw std::invalid_argument("a kernel's memory holds more than this kernel wrote");
  warming_ = warming;
}

void Chain::step() {
  end_warm_up();
  iterate();
}

}  // namespace hedgerow
