// The geometry of one rank's block: the arrangement of a field in memory, and the boxes that are sent, received and
// updated.
//
// Coordinates include the halo: along every axis, 0 is the low halo, 1 to `points` are the rank's own points, and
// `points` + 1 is the high halo. The first axis (x) is contiguous. Plain values, no ownership.
#pragma once

#include <array>
#include <cstddef>

namespace halo3d {

inline constexpr int kFields = 3;  // field f moves along axis f
inline constexpr int kAxes = 3;
inline constexpr const char* kAxisNames[kAxes] = {"x", "y", "z"};

// The two directions along an axis, as an array index and as a step.
inline constexpr int kWays = 2;
inline constexpr int way_step(int way) { return way == 0 ? +1 : -1; }  // way 0: towards higher coordinates

struct Box {  // lo inclusive, hi exclusive
  std::array<int, kAxes> lo, hi;
  int extent(int axis) const { return hi[axis] - lo[axis]; }
  std::size_t volume() const {
    return static_cast<std::size_t>(extent(0)) * static_cast<std::size_t>(extent(1)) *
           static_cast<std::size_t>(extent(2));
  }
};

struct Shape {
  std::array<int, kAxes> points;  // the rank's own points, without the halo
  int element_bytes;              // 4 or 8

  int length(int axis) const { return points[axis] + 2; }
  std::size_t row() const { return static_cast<std::size_t>(length(0)); }
  std::size_t plane() const { return row() * static_cast<std::size_t>(length(1)); }
  std::size_t volume() const { return plane() * static_cast<std::size_t>(length(2)); }  // elements of one field
  std::size_t at(int i, int j, int k) const {
    return static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * row() + static_cast<std::size_t>(k) * plane();
  }
  std::size_t stride(int axis) const { return axis == 0 ? 1 : axis == 1 ? row() : plane(); }
};

// All of the rank's own points.
inline Box interior(const Shape& shape) {
  return {{1, 1, 1}, {shape.points[0] + 1, shape.points[1] + 1, shape.points[2] + 1}};
}

inline Box one_plane(const Shape& shape, int axis, int coordinate) {
  Box box = interior(shape);
  box.lo[axis] = coordinate;
  box.hi[axis] = coordinate + 1;
  return box;
}

// Return the box sent to the neighbour `way` along `axis`, and the box filled by a message in that direction.
inline Box send_box(const Shape& shape, int axis, int way) {
  return one_plane(shape, axis, way == 0 ? shape.points[axis] : 1);
}
inline Box receive_box(const Shape& shape, int axis, int way) {
  return one_plane(shape, axis, way == 0 ? 0 : shape.points[axis] + 1);
}

// Points of a field that an update covers: kBoundary needs the halo, kInner does not.
enum class Part { kAll, kInner, kBoundary };

inline Box update_box(const Shape& shape, int axis, int way, Part part) {
  Box box = interior(shape);
  const int boundary = way == 0 ? 1 : shape.points[axis];
  if (part == Part::kBoundary) return one_plane(shape, axis, boundary);
  if (part == Part::kInner) {
    if (way == 0) {
      box.lo[axis] = 2;
    } else {
      box.hi[axis] = shape.points[axis];
    }
  }
  return box;
}

}  // namespace halo3d
