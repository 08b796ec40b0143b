// The time step of one point: one source for the GPU kernel and the host loop.
//
// kRatio is D dt / h^2, the weight of the difference between a point and its neighbours. The scheme is stable for
// values up to 1/4. As kRatio is a power of two, its products are exact: a compiler that contracts them to fused
// multiply-adds produces the same bits as one that does not, so host and GPU results are bitwise identical.
#pragma once

#include "portability.hpp"

namespace diffusion2d {

constexpr double kRatio = 0.125;

HR_DEVICE double stepped(double centre, double west, double east, double before, double after) {
  return centre + kRatio * (((west + east) + (before + after)) - 4.0 * centre);
}

}  // namespace diffusion2d
