// Rows in stretches, one for every thread, each with statistics of its own.
#pragma once

#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "hedgerow/partition.hpp"

namespace hedgerow {

// Statistics with the clusters of a partition in slots 0..K-1 and an empty slot K.
inline std::unique_ptr<Statistics> clusters_again(Partition& partition) {
  const int k = partition.clusters();
  std::unique_ptr<Statistics> again = partition.likelihood().statistics(Layout::clusters);
  again->reset(k + 1);
  for (int c = 0; c < k; ++c) again->load(c, partition.statistics(), c);
  return again;
}

// Calls each(thread, i) for i = 0, ..., count - 1. An error of a thread comes out once all are done.
template <class Each>
void in_stretches(int threads, int count, Each&& each) {
  std::vector<std::exception_ptr> errors(threads);
  const auto run = [&](int t) {
    const auto edge = [&](int s) { return static_cast<int>(static_cast<std::int64_t>(count) * s / threads); };
    try {
      for (int i = edge(t); i < edge(t + 1); ++i) each(t, i);
    } catch (...) {
      errors[t] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// log Σ exp(x), without those too small to count: e^-60 of the largest, a million of which are below rounding.
inline double log_sum_near(const double* x, int n) {
  double high = x[0];
  for (int i = 1; i < n; ++i) high = x[i] > high ? x[i] : high;
  if (high == -std::numeric_limits<double>::infinity()) return high;
  double sum = 0.0;
  for (int i = 0; i < n; ++i)
    if (x[i] > high - 60.0) sum += std::exp(x[i] - high);
  return high + std::log(sum);
}

}  // namespace hedgerow
