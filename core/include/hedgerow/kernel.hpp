// A chain's state, the kernels that move it, and the chain that runs them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hedgerow/join_panel.hpp"
#include "hedgerow/measure.hpp"
#include "hedgerow/partition.hpp"
#include "hedgerow/rng.hpp"

namespace hedgerow {

// The least the next step needs. It stays where it is: the partition refers to the measure.
struct State {
  State(const Likelihood& likelihood, const Prior& prior, std::vector<int> groups, Rng rng);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  double log_joint();     // of the data, the partition and u; the laws of hyper-parameters left out
  void update_measure();  // u, then the hyper-parameters
  Measure measure;
  Partition partition;
  Rng rng;
  bool update_u = true, update_hyper = true;  // whether they move
  // The chain set out from a partition that another one, over some of the rows, had settled in. By their log joints partitions of trees,
  // where no row is in doubt, would often be preferred to it.
  bool settled = false;
};

// Takes whichever of the two partitions, this one or the state's, has the higher joint density.
void take_higher(State& state, const std::vector<int>& labels);

// What a kernel carries from one iteration to the next, as plain numbers. Counters are few and may change with every iteration; the
// rest is large, and stays as it is once the warm-up is over, so that it need not be written with every state.
struct Carried {
  std::vector<std::int32_t> counters, whole;
  std::vector<double> real;
};

// Reads it front to back. Files are not trusted: throws std::invalid_argument where the numbers end early.
class CarriedReader {
 public:
  CarriedReader(const Carried& from, bool warming, bool first_layout) : from_(from), warming_(warming), first_layout_(first_layout) {}
  bool warming() const { return warming_; }  // taken before the end of the warm-up
  int counter();                             // older files have counters among the whole numbers
  int whole() { return wholes(1)[0]; }
  std::vector<int> wholes(std::size_t count);
  std::vector<double> reals(std::size_t count);
  std::vector<int> labels(int rows);  // 0..K-1, each used
  // Files of 0.1.0 have some numbers in another place: they are set aside, and read by whom they belong to.
  bool first_layout() const { return first_layout_; }
  int set_aside_wholes(std::size_t count);  // the last of them
  void set_aside_reals(std::size_t count);
  Carried take_aside() { return std::exchange(aside_, {}); }
  bool at_end() const { return counter_ == from_.counters.size() && whole_ == from_.whole.size() && real_ == from_.real.size(); }

 private:
  const Carried& from_;
  bool warming_, first_layout_;
  Carried aside_;
  std::size_t counter_ = 0, whole_ = 0, real_ = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // One iteration: moves the partition; u and the hyper-parameters stay.
  virtual void step(State& state) = 0;
  // Called before an iteration of the warm-up, whose draw is thrown away, with the share of it that is done and its length.
  virtual void adapt(State& state, double progress, int length) { (void)state, (void)progress, (void)length; }
  // Called once, between the last iteration of the warm-up and the first draw that is kept, and before the first draw where there
  // is no warm-up. The partition may still be replaced; every step after it depends on the state through exact moves only.
  virtual void end_warm_up(State& state) { (void)state; }
  // What happened in the last iteration, one number per name.
  virtual std::vector<std::string> stat_names() const { return {}; }
  virtual void stats(double* out) const { (void)out; }
  // What the next iteration needs beyond the state, and back into a kernel made by the same recipe: the two then go on alike to
  // the last bit. `load` throws std::invalid_argument for numbers that `save` cannot have written.
  virtual void save(Carried& out) const { (void)out; }
  virtual void load(State& state, CarriedReader& in) { (void)state, (void)in; }
};

// The panel of a partition's clusters, kept as they change.
class JoinWeights {
 public:
  // With `bases` (one per cluster) the basis measures are explicit instead of summed out; the caller keeps them in step.
  void reset(const Measure& measure, const Partition& partition, const std::vector<int>* bases = nullptr);
  void follow(const Partition::Moved& moved);
  void left(int from);  // the slot that a row was taken out of
  // out[j] += log weight of a point of group t joining cluster j.
  void add_to(int t, double* out) const;
  // Log weight of `row` joining its own cluster once it has left it.
  double own(int row) const;

 private:
  void load(int cluster);
  const Measure* measure_ = nullptr;
  const Partition* partition_ = nullptr;
  const std::vector<int>* bases_ = nullptr;
  std::optional<JoinPanel> panel_;
};

class Chain {
 public:
  Chain(std::shared_ptr<const Likelihood> likelihood, const Prior& prior, std::unique_ptr<Kernel> kernel,
        const std::vector<int>& labels, std::vector<int> groups, std::uint64_t seed, std::uint64_t sequence);
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Stages of a run: iterations that may adapt, their end, draws. The first draw ends a warm-up that nobody has ended.
  void warm_up(double progress, int length);
  void end_warm_up();  // once; later calls do nothing
  void step();
  bool warming() const { return warming_; }
  // What the next iteration needs beyond the state: fillings of missing entries, and what the kernel carries.
  void save(Carried& out) const;
  // What a chain made alike has saved, and the stage it was in. Throws std::invalid_argument for what cannot be.
  void load(const Carried& carried, bool warming, bool first_layout = false);
  double log_joint() { return state.log_joint(); }

  State state;
  Kernel& kernel() { return *kernel_; }
  const Likelihood& likelihood() const { return *likelihood_; }

 private:
  std::shared_ptr<const Likelihood> likelihood_;
  std::unique_ptr<Kernel> kernel_;
  bool imputes_, warming_ = true;
  Chain(std::shared_ptr<const Likelihood> own, const Prior& prior, std::unique_ptr<Kernel> kernel, std::vector<int> groups, Rng rng);
  void begin();  // statistics anew from the labels, and missing entries drawn
  void iterate();
  void iterate_from_here();
};

}  // namespace hedgerow
