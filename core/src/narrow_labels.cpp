// What is asked of the labels of many draws at once.
#include "hedgerow/narrow_labels.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "stretches.hpp"

namespace hedgerow {

namespace {

constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ull;  // 2^64 over the golden ratio, odd
constexpr int kTile = 32;                              // points by points at a time: with kStretch draws of each they fit the cache
constexpr int kStretch = 480;                          // draws
constexpr int kRun = 240;                              // equal labels are counted in the type of the labels, which must hold so many

template <class Label>
int equal_labels(const Label* a, const Label* b, int n) {
  int total = 0;
  for (int first = 0; first < n; first += kRun) {
    const int last = std::min(first + kRun, n);
    Label run = 0;
    for (int d = first; d < last; ++d) run = static_cast<Label>(run + (a[d] == b[d]));
    total += run;
  }
  return total;
}

// The same with each point's labels side by side. Tiles go to threads in turn, each of a pair of points once.
template <class Label>
void count_together(const std::vector<Label>& by_point, int draws, int points, int threads, float* out) {
  const int tiles = (points + kTile - 1) / kTile;
  in_stretches(threads, threads, [&](int t, int) {
    std::vector<int> count(static_cast<std::size_t>(kTile) * kTile);
    for (int tile = t; tile < tiles * tiles; tile += threads) {
      const int top = tile / tiles * kTile, left = tile % tiles * kTile;
      if (left < top) continue;
      const int bottom = std::min(top + kTile, points), right = std::min(left + kTile, points);
      std::fill(count.begin(), count.end(), 0);
      for (int first = 0; first < draws; first += kStretch) {
        const int many = std::min(kStretch, draws - first);
        for (int i = top; i < bottom; ++i) {
          const Label* a = by_point.data() + static_cast<std::size_t>(i) * draws + first;
          for (int j = std::max(left, i); j < right; ++j)
            count[(i - top) * kTile + j - left] += equal_labels(a, by_point.data() + static_cast<std::size_t>(j) * draws + first, many);
        }
      }
      for (int i = top; i < bottom; ++i)
        for (int j = std::max(left, i); j < right; ++j)
          out[static_cast<std::size_t>(i) * points + j] = out[static_cast<std::size_t>(j) * points + i] =
              static_cast<float>(count[(i - top) * kTile + j - left]);
    }
  });
}

template <class Label>
void count_as(const NarrowLabels& labels, int threads, float* out) {
  std::vector<Label> by_point(static_cast<std::size_t>(labels.draws) * labels.points);
  for (int first = 0; first < labels.draws; first += kTile)  // a few draws at a time: what is written lies close by
    for (int d = first; d < std::min(first + kTile, labels.draws); ++d)
      labels.with(d, [&](const auto* at) {
        for (int i = 0; i < labels.points; ++i) by_point[static_cast<std::size_t>(i) * labels.draws + d] = static_cast<Label>(at[i]);
      });
  count_together(by_point, labels.draws, labels.points, threads, out);
}

}  // namespace

int clusters_of(const NarrowLabels& labels, int draw) {
  return labels.with(draw, [&](const auto* at) {
    std::int64_t top = -1;
    bool good = true;
    for (int i = 0; i < labels.points; ++i) {
      const auto label = static_cast<std::int64_t>(at[i]);
      good &= label >= 0;
      top = std::max(top, label);
    }
    if (!good || top >= labels.points) throw std::invalid_argument("labels must lie in 0, ..., points - 1");
    return static_cast<int>(top + 1);
  });
}

bool are_canonical(const NarrowLabels& labels) {
  for (int d = 0; d < labels.draws; ++d) {
    const bool good = labels.with(d, [&](const auto* at) {
      std::int64_t next = 0;
      for (int i = 0; i < labels.points; ++i) {
        const auto label = static_cast<std::int64_t>(at[i]);
        if (label < 0 || label > next) return false;
        next += label == next;
      }
      return true;
    });
    if (!good) return false;
  }
  return true;
}

void point_keys(const NarrowLabels& labels, std::uint64_t* keys) {
  std::fill_n(keys, labels.points, 0);
  for (int d = 0; d < labels.draws; ++d) {
    labels.with(d, [&](const auto* at) {
      for (int i = 0; i < labels.points; ++i) {
        std::uint64_t key = (keys[i] ^ static_cast<std::uint64_t>(at[i])) * kMix;
        keys[i] = key ^ (key >> 29);
      }
    });
  }
}

bool stand_together(const NarrowLabels& labels, const std::int32_t* standing) {
  for (int d = 0; d < labels.draws; ++d) {
    const bool good = labels.with(d, [&](const auto* at) {
      bool same = true;
      for (int i = 0; i < labels.points; ++i) same &= at[i] == at[standing[i]];
      return same;
    });
    if (!good) return false;
  }
  return true;
}

void company(const NarrowLabels& labels, const std::int64_t* copies, const std::int32_t* own, int clusters, double* home, double* all,
             double* alone) {
  const int n = labels.points;
  std::vector<double> size(clusters, 0.0), table, row, rows;
  for (int i = 0; i < n; ++i) {
    if (own[i] < 0 || own[i] >= clusters) throw std::invalid_argument("own must lie in 0, ..., clusters - 1");
    size[own[i]] += static_cast<double>(copies[i]);
  }
  // Itself left out: of its own cluster one row fewer can be with it, and one fewer is.
  std::vector<double> others(clusters, 1.0), share(clusters, 1.0);
  for (int k = 0; k < clusters; ++k) {
    share[k] = 1.0 / std::max(size[k], 1.0);
    others[k] = 1.0 / std::max(size[k] - 1.0, 1.0);
  }
  std::fill_n(home, n, 0.0);
  std::fill_n(all, n, 0.0);
  std::fill_n(alone, n, 0.0);
  for (int d = 0; d < labels.draws; ++d) {
    const int width = clusters_of(labels, d);
    table.assign(static_cast<std::size_t>(width) * clusters, 0.0);
    row.assign(width, 0.0);
    rows.assign(width, 0.0);
    labels.with(d, [&](const auto* at) {
      for (int i = 0; i < n; ++i) table[static_cast<std::size_t>(at[i]) * clusters + own[i]] += static_cast<double>(copies[i]);
      for (int l = 0; l < width; ++l) {
        const double* line = table.data() + static_cast<std::size_t>(l) * clusters;
        for (int k = 0; k < clusters; ++k) {
          row[l] += line[k] * share[k];
          rows[l] += line[k];
        }
      }
      for (int i = 0; i < n; ++i) {
        const auto l = static_cast<std::size_t>(at[i]);
        const int k = own[i];
        const double together = table[l * clusters + k], with = together - 1.0;
        home[i] += with;
        all[i] += std::max(row[l] - together * share[k], 0.0) + with * others[k];
        alone[i] += rows[l] == 1.0;
      }
    });
  }
}

void together(const NarrowLabels& labels, int threads, float* out) {
  int clusters = 0;
  for (int d = 0; d < labels.draws; ++d) clusters = std::max(clusters, clusters_of(labels, d));
  if (clusters <= 1 << 8)
    count_as<std::uint8_t>(labels, threads, out);
  else if (clusters <= 1 << 16)
    count_as<std::uint16_t>(labels, threads, out);
  else
    count_as<std::int32_t>(labels, threads, out);
}

}  // namespace hedgerow
