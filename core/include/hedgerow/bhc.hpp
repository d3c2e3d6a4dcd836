// Greedy Bayesian hierarchical clustering of a forest's roots (Lee & Choi 2014, algorithm 1).
//
// The pair of least d is joined while that d is below 1. The d of two trees never changes while both live, so every root
// keeps a short list of its nearest others and a bound on the rest; a list is filled again only when it has run out and
// its bound is the least of all. O(n²) evaluations, O(n) memory, and the same merges as looking at all pairs every time.
#pragma once

#include "hedgerow/forest.hpp"

namespace hedgerow {

// `full`: join past d = 1 until one tree is left (or none of the rest touch).
void bhc(Forest& forest, bool full);

}  // namespace hedgerow
