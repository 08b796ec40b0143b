// Profiles of the fields through the middle of a block, as text: what a person plots and what is hashed, because two
// runs agree when their profiles do.
#pragma once

#include <array>
#include <string>

#include "shape.hpp"

namespace halo3d {

// One text an axis: a line a point, with its coordinate and the values of the three fields.
using Profiles = std::array<std::string, kAxes>;

Profiles make_profiles(const Shape& shape, const void* fields);
// profile_<axis>.<pattern>.<rank>.txt in `directory`, which is made if need be. False, with the reason, when that
// fails.
[[nodiscard]] bool write_profiles(const Profiles& profiles, const std::string& directory, const std::string& pattern,
                                  int rank, std::string& message);

}  // namespace halo3d
