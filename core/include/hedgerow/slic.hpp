// SLIC (Achanta et al. 2012): voxels grouped round centres by colour and place, and the connected pieces of a labelling.
#pragma once

#include <cstdint>
#include <vector>

namespace hedgerow {

// A block of voxels, [frame][row][column].
struct Volume {
  int frames, rows, columns;

  int voxels() const { return frames * rows * columns; }
};

// The squared distance of a voxel from a centre is |colours apart|²/compactness² + |places apart|²/step², where a frame of time is
// `time_spacing` pixels long and centres start on a grid of that step.
struct SlicSettings {
  int number;  // centres to start from, about
  double compactness;
  double time_spacing;
  int iterations;
};

// For every voxel the nearest of the centres within two steps of it; `colours` has three numbers a voxel. Centres move to the mean
// of their voxels, until nothing changes or for so many iterations. The same on every instruction set up to rounding.
void slic(const float* colours, const Volume& volume, const SlicSettings& settings, std::int32_t* labels);

// Pieces of equal label that are connected through faces, numbered by their first voxel; returns how many there are.
int connected_pieces(const std::int32_t* labels, const Volume& volume, std::int32_t* pieces);

// Labels 0 .. n - 1 that share faces between voxels, each pair once and in order, with the number of these faces and the sum of the
// Euclidean distances of colours across them, 0 where there are no colours.
struct Contacts {
  std::vector<std::int64_t> low, high, faces;
  std::vector<double> contrast;
};

Contacts contacts(const std::int32_t* labels, const Volume& volume, int n, const float* colours);

}  // namespace hedgerow
