// Clusters of rows that count in part: what a mixture fitted to some rows is made of.
//
// A family that knows them says so by Likelihood::portions. The rows are those of a window; a slot is the posterior of the parameters
// given that row i of it counts w_i ≥ 0. Its density is ∝ H(θ) Π_i L(x_i|θ)^w_i, normalised by p = ∫ H(dθ) Π_i L(x_i|θ)^w_i.
#pragma once

#include <span>

#include "hedgerow/rng.hpp"

namespace hedgerow {

class Portions {
 public:
  virtual ~Portions() = default;
  // The rows of the window and room for so many slots. Weights and densities of rows have room for a multiple of 8; what stands beyond
  // the last row is 0 among weights.
  virtual void open(std::span<const int> rows, int slots) = 0;
  virtual double weigh(int slot, const double* weights) = 0;  // makes the slot; returns log p
  // Parameters of a slot as `atom_size` numbers: a middling value, and a draw.
  virtual int atom_size() const = 0;
  virtual void middle_atom(int slot, double* atom) const = 0;
  virtual void draw_atom(int slot, Rng& rng, double* atom) const = 0;
  // log L(row | atom) of every row, raised to the likelihood's power.
  virtual void log_densities(const double* atom, double* out) const = 0;
  // Whether windows of such clusters are worth recasting: the more parameters a cluster has, the rarer that succeeds.
  virtual bool pays() const { return true; }
};

}  // namespace hedgerow
