// Where new rows would go, given one draw of the partition.
#pragma once

#include "hedgerow/kernel.hpp"

namespace hedgerow {

// Rows n_old.. of the likelihood are new. out (n_new × (K+1)): log[weight × density] for every cluster of `state` and a
// new one; the exponentials of a row sum to its predictive density, with ξ over several groups on average over draws.
void predictive(State& state, int n_old, const std::vector<int>& new_groups, double* out);

// log p(x | the other rows, and their partition in `state`) of every row, (n): the row counts neither in the weight nor in the
// density of its own cluster, and what it has alone is not there without it.
void left_out(State& state, double* out);

// The same from sizes and statistics of all clusters, wherever their rows are: every row of the likelihood is new (its slot K must be
// there), or is one of those that were counted, under its label.
void predictive(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
                double* out);
void left_out(const Likelihood& likelihood, Statistics& statistics, const Measure& measure, const std::vector<int>& sizes,
              const std::vector<int>& labels, double* out);

}  // namespace hedgerow
