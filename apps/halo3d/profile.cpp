#include "profile.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace halo3d {
namespace {

double value(const Shape& shape, const void* fields, int field, std::size_t at) {
  const std::size_t index = static_cast<std::size_t>(field) * shape.volume() + at;
  if (shape.element_bytes == 4) return static_cast<double>(static_cast<const float*>(fields)[index]);
  return static_cast<const double*>(fields)[index];
}

}  // namespace

Profiles make_profiles(const Shape& shape, const void* fields) {
  const int digits = shape.element_bytes == 4 ? 9 : 17;  // enough to distinguish any two values
  Profiles profiles;
  for (int axis = 0; axis < kAxes; ++axis) {
    std::array<int, kAxes> point = {shape.points[0] / 2 + 1, shape.points[1] / 2 + 1, shape.points[2] / 2 + 1};
    for (point[axis] = 1; point[axis] <= shape.points[axis]; ++point[axis]) {
      const std::size_t at = shape.at(point[0], point[1], point[2]);
      char line[160];
      std::snprintf(line, sizeof line, "%6d %.*g %.*g %.*g\n", point[axis], digits, value(shape, fields, 0, at), digits,
                    value(shape, fields, 1, at), digits, value(shape, fields, 2, at));
      profiles[axis] += line;
    }
  }
  return profiles;
}

bool write_profiles(const Profiles& profiles, const std::string& directory, const std::string& pattern, int rank,
                    std::string& message) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (int axis = 0; axis < kAxes; ++axis) {
    const std::string file =
        directory + "/profile_" + kAxisNames[axis] + "." + pattern + "." + std::to_string(rank) + ".txt";
    std::ofstream out(file);
    out << profiles[axis];
    if (!out.flush()) {
      message = "cannot write " + file;
      return false;
    }
  }
  return true;
}

}  // namespace halo3d
