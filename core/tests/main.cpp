// The C++ tests; with HEDGEROW_ISA they run on that set of instructions, and end with 77 where the machine lacks it.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>
#include <cstdlib>

#include "simd.hpp"
#include "testing.hpp"

int main(int argc, char** argv) {
  const char* wanted = std::getenv("HEDGEROW_ISA");
  if (wanted && !hedgerow::simd_named(wanted)) {
    std::printf("skipped: this machine lacks %s\n", wanted);
    return 77;
  }
  std::printf("on %s\n", hedgerow::simd().name);
  return doctest::Context(argc, argv).run();
}
