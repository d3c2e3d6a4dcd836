// Parallel tempering: copies of the chain at lower powers of the likelihood, which trade places with it.
//
// Rung k has the target p(Π, u, η) ∏_c p_ζk(X_c), rung 0 that of the chain. Each is moved by a kernel of its own, u and the
// hyper-parameters follow, then neighbours k and k+1 trade all of (Π, u, η) with probability min(1, r),
//
//     log r = Σ_c [log p_ζk(X_c') − log p_ζ(k+1)(X_c')] − Σ_c [log p_ζk(X_c) − log p_ζ(k+1)(X_c)],   c' the clusters of rung k+1,
//
// which leaves the product of all targets invariant: what the prior says of either cancels. Only rung 0 is reported.
// (Geyer 1991; pairs take turns, even ones first, as in Syed, Bouchard-Côté, Deligiannidis & Doucet 2022.)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hedgerow/kernel.hpp"

namespace hedgerow {

class Tempered final : public Kernel {
 public:
  struct Rung {
    Rung(std::shared_ptr<const Likelihood> at, const Prior& prior, const std::vector<int>& groups, std::unique_ptr<Kernel> mover)
        : likelihood(std::move(at)), state(*likelihood, prior, groups, Rng(0)), kernel(std::move(mover)) {}
    std::shared_ptr<const Likelihood> likelihood;
    State state;  // its random numbers are those of the chain, lent for as long as it moves
    std::unique_ptr<Kernel> kernel;
  };
  // Rungs below the chain's own, in the order of falling powers.
  Tempered(std::unique_ptr<Kernel> kernel, std::vector<std::unique_ptr<Rung>> rungs);

  void step(State& state) override;
  void adapt(State& state, double progress, int length) override;
  void end_warm_up(State& state) override;
  std::vector<std::string> stat_names() const override;
  void stats(double* out) const override;
  void save(Carried& out) const override;  // where every rung is
  void load(State& state, CarriedReader& in) override;

 private:
  bool begun() const { return !walker_.empty(); }
  void begin(const State& state);
  template <class Work>
  void each(State& state, const Work& work);  // of every rung, with the chain's random numbers
  void trade(State& state, std::size_t upper);
  State& at(State& state, std::size_t k) { return k == 0 ? state : rungs_[k - 1]->state; }

  std::unique_ptr<Kernel> kernel_;
  std::vector<std::unique_ptr<Rung>> rungs_;
  std::vector<int> walker_;     // who is at each rung, 0 the highest
  std::vector<int> been_down_;  // by walker: at the lowest rung since it was last at the highest
  bool trading_ = false;        // not while kernels still look for a place to begin
  std::vector<double> traded_;  // by pair, in the last step
  double trips_ = 0.0;          // walkers back at the highest rung from the lowest, in the last step
};

}  // namespace hedgerow
