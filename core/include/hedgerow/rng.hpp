// Random numbers: xoshiro256++ sequences and the few laws the samplers need, the same on every platform.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace hedgerow {

class Rng {
 public:
  // One sequence per (seed, sequence); those of one seed are unrelated by construction of the hash, not by jumps.
  explicit Rng(std::uint64_t seed = 0, std::uint64_t sequence = 0) {
    std::uint64_t x = seed ^ (0x9E3779B97F4A7C15ull * (sequence + 1));
    for (auto& word : state_) word = splitmix(x);
    for (int i = 0; i < 16; ++i) next();
  }

  std::uint64_t next() {
    const std::uint64_t result = rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }

  // Uniform on [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Uniform on (0, 1], safe under a logarithm.
  double uniform_open() { return (static_cast<double>(next() >> 11) + 1.0) * 0x1.0p-53; }

  // Uniform on {0, ..., bound - 1}, without bias (Lemire).
  std::uint64_t below(std::uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    std::uint64_t low = static_cast<std::uint64_t>(product);
    if (low < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (low < threshold) {
        product = static_cast<unsigned __int128>(next()) * bound;
        low = static_cast<std::uint64_t>(product);
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }
  int index(int bound) { return static_cast<int>(below(static_cast<std::uint64_t>(bound))); }

  double exponential() { return -std::log(uniform_open()); }

  // Standard normal by the polar method; the second value is dropped so that the state is the four words alone.
  double normal() {
    double a, b, s;
    do {
      a = 2.0 * uniform() - 1.0;
      b = 2.0 * uniform() - 1.0;
      s = a * a + b * b;
    } while (s >= 1.0 || s == 0.0);
    return a * std::sqrt(-2.0 * std::log(s) / s);
  }

  // log of a Gamma(shape, rate 1) variate (Marsaglia and Tsang); the log keeps tiny shapes from underflowing.
  double log_gamma_variate(double shape) {
    double boost = 0.0;
    if (shape < 1.0) {
      boost = std::log(uniform_open()) / shape;
      shape += 1.0;
    }
    const double d = shape - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      double x, v;
      do {
        x = normal();
        v = 1.0 + c * x;
      } while (v <= 0.0);
      v = v * v * v;
      const double u = uniform_open();
      if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v) + boost;
    }
  }
  double gamma(double shape, double rate) { return std::exp(log_gamma_variate(shape)) / rate; }

  const std::array<std::uint64_t, 4>& state() const { return state_; }
  void set_state(const std::array<std::uint64_t, 4>& state) { state_ = state; }

 private:
  static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  static std::uint64_t splitmix(std::uint64_t& x) {
    std::uint64_t z = (x += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace hedgerow
