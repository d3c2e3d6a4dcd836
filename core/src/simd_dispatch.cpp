// Picks the widest instruction set this machine has, once.
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "simd.hpp"

namespace hedgerow {
namespace baseline {
const Simd& table();
}
#ifdef HEDGEROW_X86
namespace avx2 {
const Simd& table();
}
namespace avx512 {
const Simd& table();
}
#endif

const Simd* simd_named(const char* name) {
  if (std::strcmp(name, "baseline") == 0) return &baseline::table();
#ifdef HEDGEROW_X86
  __builtin_cpu_init();
  if (std::strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2::table();
  if (std::strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return &avx512::table();
#endif
  return nullptr;
}

static const Simd& choose() {
  if (const char* wanted = std::getenv("HEDGEROW_ISA"); wanted != nullptr && *wanted != '\0') {
    if (const Simd* found = simd_named(wanted)) return *found;
    throw std::invalid_argument(std::string("HEDGEROW_ISA=") + wanted +
                                ": must be baseline, avx2 or avx512, and one that this machine has.");
  }
  for (const char* name : {"avx512", "avx2"})
    if (const Simd* found = simd_named(name)) return *found;
  return baseline::table();
}

const Simd& simd() {
  static const Simd& chosen = choose();
  return chosen;
}

}  // namespace hedgerow
