// Profiles of the fields through the middle of a block, as text: for plotting, and for hashes that identify equal runs.
#pragma once

#include <array>
#include <string>

#include "shape.hpp"

namespace halo3d {

// One string per axis; each line contains a point's coordinate and the values of the three fields.
using Profiles = std::array<std::string, kAxes>;

Profiles make_profiles(const Shape& shape, const void* fields);
// Writes profile_<axis>.<pattern>.<rank>.txt in `directory`, which it creates if necessary. Returns false, with the
// reason, if that fails.
[[nodiscard]] bool write_profiles(const Profiles& profiles, const std::string& directory, const std::string& pattern,
                                  int rank, std::string& message);

}  // namespace halo3d
