// The hot loops for avx2: vectors of 4 doubles.
#define HEDGEROW_ISA avx2
#define HEDGEROW_WIDTH 4
#include "simd_loops.inc"
