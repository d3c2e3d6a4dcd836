// The hot loops for any machine: vectors of 2 doubles.
#define HEDGEROW_ISA baseline
#define HEDGEROW_WIDTH 2
#include "simd_loops.inc"
