// SLIC: every iteration goes through the volume row by row, and through the centres whose window a row crosses. So a row stays in
// the nearest cache with its distances, and its sums are taken while it is there.
#include "hedgerow/slic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "simd.hpp"

namespace hedgerow {
namespace {

constexpr int kAxes = 3, kColours = 3;
using Axes = std::array<int, kAxes>;

// Where centres start: a grid of even steps. An axis shorter than the step has one centre, and the others share the number.
struct Grid {
  Axes step{}, first{}, count{};

  Grid(const Axes& shape, int number) {
    Axes order{0, 1, 2};
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return shape[a] < shape[b]; });
    double space = 1.0;
    for (int side : shape) space *= side;
    double even = 1.0;
    for (int k = 0, left = kAxes; k < kAxes; ++k) {
      const int axis = order[k], side = shape[axis];
      if (left == kAxes - k) even = std::max(1.0, std::pow(space / number, 1.0 / left));  // every axis so far was short
      const double length = std::min(even, static_cast<double>(side));
      if (side < even) space /= side, --left;
      step[axis] = static_cast<int>(std::lround(length));
      first[axis] = static_cast<int>(length / 2.0);
      count[axis] = (side - first[axis] + step[axis] - 1) / step[axis];
    }
  }

  int centres() const { return count[0] * count[1] * count[2]; }
  int widest() const { return *std::max_element(step.begin(), step.end()); }
  // The centre whose cell a voxel is in.
  int cell(int z, int y, int x) const {
    const auto of = [&](int axis, int at) { return std::min(at / step[axis], count[axis] - 1); };
    return (of(0, z) * count[1] + of(1, y)) * count[2] + of(2, x);
  }
};

struct Centre {
  std::array<float, kAxes> place{};
  std::array<float, kColours> colour{};
};

struct Sums {
  double voxels = 0.0;
  std::array<double, kAxes> place{};
  std::array<double, kColours> colour{};
};

class Slic {
 public:
  Slic(const float* colours, const Volume& volume, const SlicSettings& settings)
      : shape_{volume.frames, volume.rows, volume.columns},
        padded_((volume.columns + kVoxels - 1) / kVoxels * kVoxels),
        spacing_(static_cast<float>(settings.time_spacing)),
        planes_(static_cast<std::size_t>(rows()) * kColours * padded_),
        labels_(static_cast<std::size_t>(rows()) * padded_),
        grid_(shape_, settings.number),
        centres_(grid_.centres()),
        sums_(grid_.centres()),
        crossing_(volume.rows),
        best_(padded_),
        before_(padded_) {
    nearness_ = 1.0f / static_cast<float>(grid_.widest() * grid_.widest());
    const auto scale = static_cast<float>(1.0 / settings.compactness);
    for (int row = 0; row < rows(); ++row)
      for (int x = 0; x < shape_[2]; ++x, colours += kColours) {
        for (int c = 0; c < kColours; ++c) plane(row)[c * padded_ + x] = scale * colours[c];
        labels(row)[x] = grid_.cell(row / shape_[1], row % shape_[1], x);
      }
  }

  void run(int iterations, std::int32_t* out) {
    for (int row = 0; row < rows(); ++row) add(row);
    for (bool changed = true; iterations > 0 && changed; --iterations) {
      move();
      changed = assign();
    }
    for (int row = 0; row < rows(); ++row, out += shape_[2]) std::copy_n(labels(row), shape_[2], out);
  }

 private:
  int rows() const { return shape_[0] * shape_[1]; }
  float* plane(int row) { return planes_.data() + static_cast<std::size_t>(row) * kColours * padded_; }
  std::int32_t* labels(int row) { return labels_.data() + static_cast<std::size_t>(row) * padded_; }

  // The part of an axis that a centre looks at.
  std::pair<int, int> window(const Centre& centre, int axis) const {
    const int at = static_cast<int>(centre.place[axis]), reach = 2 * grid_.step[axis];
    return {std::max(at - reach, 0), std::min(at + reach + 1, shape_[axis])};
  }

  // Centres to the means of their voxels; one without voxels stays.
  void move() {
    for (std::size_t k = 0; k < centres_.size(); ++k) {
      const Sums& sums = sums_[k];
      if (sums.voxels == 0.0) continue;
      for (int i = 0; i < kAxes; ++i) centres_[k].place[i] = static_cast<float>(sums.place[i] / sums.voxels);
      for (int i = 0; i < kColours; ++i) centres_[k].colour[i] = static_cast<float>(sums.colour[i] / sums.voxels);
    }
  }

  // Every voxel to its nearest centre, and their sums; whether any voxel changed.
  bool assign() {
    for (auto& list : crossing_) list.clear();
    for (std::size_t k = 0; k < centres_.size(); ++k) {
      const auto [low, high] = window(centres_[k], 1);
      for (int y = low; y < high; ++y) crossing_[y].push_back(static_cast<int>(k));
    }
    std::fill(sums_.begin(), sums_.end(), Sums{});
    bool changed = false;
    for (int row = 0; row < rows(); ++row) {
      std::copy_n(labels(row), shape_[2], before_.begin());
      std::fill(best_.begin(), best_.end(), std::numeric_limits<float>::infinity());
      for (int k : crossing_[row % shape_[1]]) nearest(row, k);
      changed = changed || !std::equal(before_.begin(), before_.begin() + shape_[2], labels(row));
      add(row);
    }
    return changed;
  }

  // The voxels of a row that are nearer to centre k than to any before it. Windows are made of
  // whole blocks, the same for all centres: a block is read as it was written, which processors are quick at.
  void nearest(int row, int k) {
    const Centre& centre = centres_[k];
    const int z = row / shape_[1], y = row % shape_[1];
    const auto [first, last] = window(centre, 0);
    if (z < first || z >= last) return;
    const auto [left, right] = window(centre, 2);
    const int low = left / kVoxels * kVoxels, blocks = (right - low + kVoxels - 1) / kVoxels;
    const float dz = spacing_ * (static_cast<float>(z) - centre.place[0]), dy = static_cast<float>(y) - centre.place[1];
    simd().nearest_voxels(plane(row) + low, padded_, blocks, static_cast<float>(low) - centre.place[2], nearness_,
                          nearness_ * (dz * dz + dy * dy), centre.colour.data(), k, best_.data() + low, labels(row) + low);
  }

  // The sums of a row, one stretch of equal labels after the other.
  void add(int row) {
    const std::int32_t* mine = labels(row);
    const float* colours = plane(row);
    for (int x = 0; x < shape_[2];) {
      const int begin = x;
      std::array<float, kColours> total{};
      for (; x < shape_[2] && mine[x] == mine[begin]; ++x)
        for (int c = 0; c < kColours; ++c) total[c] += colours[c * padded_ + x];
      Sums& sums = sums_[mine[begin]];
      const double length = x - begin;
      sums.voxels += length;
      sums.place[0] += length * (row / shape_[1]);
      sums.place[1] += length * (row % shape_[1]);
      sums.place[2] += length * 0.5 * (begin + x - 1);
      for (int c = 0; c < kColours; ++c) sums.colour[c] += total[c];
    }
  }

  Axes shape_;
  int padded_;  // columns, to whole blocks
  float spacing_, nearness_ = 1.0f;
  std::vector<float> planes_;  // [frame][row][colour][column]
  std::vector<std::int32_t> labels_;
  Grid grid_;
  std::vector<Centre> centres_;
  std::vector<Sums> sums_;
  std::vector<std::vector<int>> crossing_;  // by row, the centres whose window it crosses, in order
  std::vector<float> best_;
  std::vector<std::int32_t> before_;
};

int root_of(std::vector<int>& above, int i) {
  while (above[i] != i) i = above[i] = above[above[i]];
  return i;
}

}  // namespace

void slic(const float* colours, const Volume& volume, const SlicSettings& settings, std::int32_t* labels) {
  Slic(colours, volume, settings).run(settings.iterations, labels);
}

int connected_pieces(const std::int32_t* labels, const Volume& volume, std::int32_t* pieces) {
  const int columns = volume.columns, frame = volume.rows * columns;
  // Stretches within a row are pieces of their own at first, and are linked to those above and in the frame before.
  std::vector<int> above;
  for (int at = 0, x = 0; at < volume.voxels(); ++at, x = x + 1 == columns ? 0 : x + 1) {
    if (x > 0 && labels[at] == labels[at - 1]) {
      pieces[at] = pieces[at - 1];
    } else {
      pieces[at] = static_cast<int>(above.size());
      above.push_back(pieces[at]);
    }
    const auto link = [&](int back) {
      if (labels[at] != labels[at - back]) return;
      if (x > 0 && pieces[at] == pieces[at - 1] && labels[at - back] == labels[at - back - 1]) return;  // linked one voxel ago
      const int a = root_of(above, pieces[at]), b = root_of(above, pieces[at - back]);
      above[std::max(a, b)] = std::min(a, b);
    };
    if (at % frame >= columns) link(columns);
    if (at >= frame) link(frame);
  }
  int n = 0;
  std::vector<int> number(above.size());
  for (std::size_t i = 0; i < above.size(); ++i) {
    const int root = root_of(above, static_cast<int>(i));
    number[i] = root == static_cast<int>(i) ? n++ : number[root];
  }
  for (int at = 0; at < volume.voxels(); ++at) pieces[at] = number[pieces[at]];
  return n;
}

namespace {

// look(voxel, neighbour) for the voxels on both sides of every face between different labels.
template <class Look>
void every_face(const std::int32_t* labels, const Volume& volume, const Look& look) {
  const int columns = volume.columns, frame = volume.rows * columns;
  for (int z = 0, at = 0; z < volume.frames; ++z)
    for (int y = 0; y < volume.rows; ++y)
      for (int x = 0; x < columns; ++x, ++at) {
        if (x > 0 && labels[at] != labels[at - 1]) look(at, at - 1);
        if (y > 0 && labels[at] != labels[at - columns]) look(at, at - columns);
        if (z > 0 && labels[at] != labels[at - frame]) look(at, at - frame);
      }
}

float distance(const float* a, const float* b) {
  float total = 0.0f;
  for (int c = 0; c < kColours; ++c) total += (a[c] - b[c]) * (a[c] - b[c]);
  return std::sqrt(total);
}

}  // namespace

Contacts contacts(const std::int32_t* labels, const Volume& volume, int n, const float* colours) {
  // Faces are put in order of their lower label, and then counted by the higher, one lower label at a time.
  std::vector<int> begin(static_cast<std::size_t>(n) + 1);
  every_face(labels, volume, [&](int a, int b) { ++begin[std::min(labels[a], labels[b]) + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  struct Face {
    std::int32_t high;
    float apart;
  };
  std::vector<Face> faces(begin[n]);
  std::vector<int> next(begin.begin(), begin.end() - 1);
  every_face(labels, volume, [&](int a, int b) {
    const auto [low, high] = std::minmax(labels[a], labels[b]);
    faces[next[low]++] = {high, colours == nullptr ? 0.0f : distance(colours + kColours * a, colours + kColours * b)};
  });
  Contacts out;
  std::vector<std::int64_t> count(n);
  std::vector<double> contrast(n);
  std::vector<int> met;
  for (int low = 0; low < n; ++low) {
    met.clear();
    for (int f = begin[low]; f < begin[low + 1]; ++f) {
      if (count[faces[f].high]++ == 0) met.push_back(faces[f].high);
      contrast[faces[f].high] += faces[f].apart;
    }
    std::sort(met.begin(), met.end());
    for (int high : met) {
      out.low.push_back(low);
      out.high.push_back(high);
      out.faces.push_back(std::exchange(count[high], 0));
      out.contrast.push_back(std::exchange(contrast[high], 0.0));
    }
  }
  return out;
}

}  // namespace hedgerow
