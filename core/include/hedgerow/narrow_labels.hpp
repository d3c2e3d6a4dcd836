// Labels of many draws, in one, two or four bytes each, and what is asked of all of them at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hedgerow {

// Labels (draws × points) from 0 up, somebody else's memory.
struct NarrowLabels {
  const void* data;
  int width;  // bytes of a label
  int draws, points;

  // Calls f with the labels of a draw as what they are: const std::uint8_t*, const std::uint16_t* or const std::int32_t*.
  template <class F>
  auto with(int draw, F&& f) const {
    const auto* at = static_cast<const std::uint8_t*>(data) + static_cast<std::size_t>(draw) * points * width;
    if (width == 1) return f(at);
    if (width == 2) return f(reinterpret_cast<const std::uint16_t*>(at));
    return f(reinterpret_cast<const std::int32_t*>(at));
  }
};

// Clusters of a draw, its labels being 0, ..., points - 1; throws on others.
int clusters_of(const NarrowLabels& labels, int draw);

// Whether every draw is numbered 0, 1, ... in order of first appearance.
bool are_canonical(const NarrowLabels& labels);

// A hash of the labels of every point over all draws: equal for points that no draw takes apart.
void point_keys(const NarrowLabels& labels, std::uint64_t* keys);

// Whether no draw takes any point from the one that stands for it.
bool stand_together(const NarrowLabels& labels, const std::int32_t* standing);

// Of every point, with `copies` rows behind each, summed over the draws: other rows of its cluster `own` of a partition that are with
// it; mean share that is with it of each of the K clusters, itself left out, summed over them; and draws that have it alone.
void company(const NarrowLabels& labels, const std::int64_t* copies, const std::int32_t* own, int clusters, double* home, double* all,
             double* alone);

// How many draws have each two points together, (points × points), in so many threads.
void together(const NarrowLabels& labels, int threads, float* out);

}  // namespace hedgerow
