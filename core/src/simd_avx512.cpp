// The hot loops for avx512: vectors of 8 doubles.
#define HEDGEROW_ISA avx512
#define HEDGEROW_WIDTH 8
#include "simd_loops.inc"
