// Missing entries that are filled in by draws, for chains, trees and predictions.
#pragma once

#include "hedgerow/forest.hpp"
#include "hedgerow/kernel.hpp"

namespace hedgerow {

// The likelihood itself, or its fork where it has entries to fill in: then it must not be shared.
std::shared_ptr<const Likelihood> with_own_imputations(std::shared_ptr<const Likelihood> likelihood);

// Gibbs on labels and fillings: each row that has gaps leaves its cluster, draws a label by the density of its other entries, then its
// missing ones given that cluster, and joins it.
void impute_with_labels(State& state);
// Fillings alone, given the partition of the first rows: clusters begin with their whole rows, the others join one by one, and all
// of them are then drawn anew `sweeps` times. The partition must be assigned afterwards.
void impute_given_labels(State& state, const std::vector<int>& labels, int sweeps);

// Fills in a row that is about to go into a forest, given the root that its other entries suit best, or none; returns the log density of
// the draw, less the tilt (Statistics::log_tilt).
double impute_for_roots(Forest& forest, int row, Rng& rng);

}  // namespace hedgerow
