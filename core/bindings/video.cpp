// Supervoxels of a chunk of video.
#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "hedgerow/slic.hpp"

namespace hedgerow::bindings {
namespace {

Volume volume_of(std::size_t frames, std::size_t rows, std::size_t columns) {
  check(frames > 0 && rows > 0 && columns > 0, "a chunk must hold voxels");
  check(frames <= 2147483647 / rows && frames * rows <= 2147483647 / 4 / columns, "a chunk must hold at most 2^29 voxels");
  return {static_cast<int>(frames), static_cast<int>(rows), static_cast<int>(columns)};
}

Out<std::int32_t> slic_labels(In<float, 4> colours, int number, double compactness, double time_spacing, int iterations) {
  check(colours.shape(3) == 3, "a voxel must have three colours");
  check(number >= 1 && compactness > 0.0 && time_spacing > 0.0 && iterations >= 1, "settings must be positive");
  const Volume volume = volume_of(colours.shape(0), colours.shape(1), colours.shape(2));
  std::int32_t* labels;
  auto out = make_array<std::int32_t>({colours.shape(0), colours.shape(1), colours.shape(2)}, &labels);
  nb::gil_scoped_release release;
  slic(colours.data(), volume, {number, compactness, time_spacing, iterations}, labels);
  return out;
}

nb::tuple pieces_of(In<std::int32_t, 3> labels) {
  const Volume volume = volume_of(labels.shape(0), labels.shape(1), labels.shape(2));
  std::int32_t* pieces;
  auto out = make_array<std::int32_t>({labels.shape(0), labels.shape(1), labels.shape(2)}, &pieces);
  int n;
  {
    nb::gil_scoped_release release;
    n = connected_pieces(labels.data(), volume, pieces);
  }
  return nb::make_tuple(out, n);
}

nb::tuple contacts_of(In<std::int32_t, 3> labels, int n, std::optional<In<float, 4>> colours) {
  const Volume volume = volume_of(labels.shape(0), labels.shape(1), labels.shape(2));
  for (int i = 0; i < volume.voxels(); ++i) check(labels.data()[i] >= 0 && labels.data()[i] < n, "labels must lie in 0 .. n - 1");
  if (colours)
    for (int axis = 0; axis < 4; ++axis)
      check(colours->shape(axis) == (axis < 3 ? labels.shape(axis) : 3), "colours must be three for every voxel");
  Contacts found;
  {
    nb::gil_scoped_release release;
    found = contacts(labels.data(), volume, n, colours ? colours->data() : nullptr);
  }
  return nb::make_tuple(to_array(found.low), to_array(found.high), to_array(found.faces), to_array(found.contrast));
}

}  // namespace

void bind_video(nb::module_& m) {
  m.def("slic", slic_labels, nb::arg("colours"), nb::arg("number"), nb::arg("compactness"), nb::arg("time_spacing"),
        nb::arg("iterations"), "The nearest centre of every voxel, by colour and place.");
  m.def("connected_pieces", pieces_of, nb::arg("labels"), "Pieces of equal label that are connected through faces, and how many.");
  m.def("contacts", contacts_of, nb::arg("labels"), nb::arg("n"), nb::arg("colours").none() = nb::none(),
        "Pairs of labels that touch, lower first, the faces they share, and the sums of colour differences across them.");
}

}  // namespace hedgerow::bindings
