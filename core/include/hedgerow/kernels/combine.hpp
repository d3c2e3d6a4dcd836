// Kernels made of kernels: all in turn, or one at random.
#pragma once

#include "hedgerow/kernel.hpp"

namespace hedgerow {

class Combined : public Kernel {
 public:
  struct Part {
    std::string name;
    std::unique_ptr<Kernel> kernel;
    double weight;
  };
  explicit Combined(std::vector<Part> parts) : parts_(std::move(parts)) {}
  std::vector<std::string> stat_names() const override;
  void stats(double* out) const override;
  void adapt(State& state, double progress, int length) override {
    for (Part& part : parts_) part.kernel->adapt(state, progress, length);
  }
  void end_warm_up(State& state) override {
    for (Part& part : parts_) part.kernel->end_warm_up(state);
  }
  void save(Carried& out) const override {
    for (const Part& part : parts_) part.kernel->save(out);
  }
  void load(State& state, CarriedReader& in) override {
    for (Part& part : parts_) part.kernel->load(state, in);
  }

 protected:
  std::vector<Part> parts_;
  std::vector<char> ran_;
};

// Every part once an iteration, in order.
class Cycle final : public Combined {
 public:
  using Combined::Combined;
  void step(State& state) override;
};

// One part an iteration, drawn by weight. Only the part that runs adapts: it must see the step that its adaptation is for.
class Mix final : public Combined {
 public:
  using Combined::Combined;
  void step(State& state) override;
  void adapt(State&, double progress, int length) override { progress_ = progress, length_ = length; }

 private:
  static constexpr double kNone = -1.0;
  double progress_ = kNone;
  int length_ = 0;
};

}  // namespace hedgerow
