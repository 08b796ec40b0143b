// The sets of floats that bench/faces.cpp sends and receives: the faces of a cube, and random single ones.
//
// Positions are indices into the cube of n * n * n floats, x fastest. They exist in addition to the datatypes because
// the check must not depend on the library's view of a type, and because gpu_limits moves the same sets without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace bench {

enum class Shape { kContiguous, kRows, kElements, kIndexed };
inline constexpr const char* kShapes[] = {"contiguous", "rows", "elements", "indexed"};
inline constexpr Shape kAllShapes[] = {Shape::kContiguous, Shape::kRows, Shape::kElements, Shape::kIndexed};

inline const char* shape_name(Shape shape) { return kShapes[static_cast<std::size_t>(shape)]; }

// Side of a message. The sender's plane is next to the halo; the receiver's is the halo at the opposite end.
enum class Side { kSend, kReceive };
inline int plane_of(Side side, int n) { return side == Side::kSend ? 1 : n - 1; }

// Returns `count` distinct positions below `total` in random order, reproducible for the same arguments.
inline std::vector<std::int32_t> random_positions(std::size_t total, std::size_t count, Side side) {
  std::vector<std::int32_t> all(total);
  std::iota(all.begin(), all.end(), 0);
  std::mt19937 random(side == Side::kSend ? 20251u : 40487u);
  for (std::size_t i = 0; i < count; ++i) {  // performs the first steps of a shuffle
    const std::size_t other = i + random() % (total - i);
    std::swap(all[i], all[other]);
  }
  all.resize(count);
  return all;
}

// Returns the positions of a shape in message order.
inline std::vector<std::int32_t> positions(Shape shape, Side side, int n, std::size_t random_count) {
  const auto edge = static_cast<std::size_t>(n);
  if (shape == Shape::kIndexed) return random_positions(edge * edge * edge, random_count, side);
  const std::size_t plane = static_cast<std::size_t>(plane_of(side, n));
  std::vector<std::int32_t> at;
  at.reserve(edge * edge);
  for (std::size_t a = 0; a < edge; ++a) {
    for (std::size_t b = 0; b < edge; ++b) {
      std::size_t position = 0;
      if (shape == Shape::kContiguous) position = (plane * edge + a) * edge + b;
      if (shape == Shape::kRows) position = (a * edge + plane) * edge + b;
      if (shape == Shape::kElements) position = (a * edge + b) * edge + plane;
      at.push_back(static_cast<std::int32_t>(position));
    }
  }
  return at;
}

}  // namespace bench
