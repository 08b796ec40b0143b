// The bare limit for the sets of floats of bench/faces.cpp: every kernel of limits/kernels.cu that fits, with several
// block sizes, launched from the source's device and from the destination's; the best of all.
#pragma once

#include <string>

#include "faces/shape.hpp"
#include "limits/clock.hpp"
#include "limits/devices.hpp"

namespace bench {

struct FaceLimit {
  std::size_t bytes = 0;
  Statistics best{};
  std::string how;       // "pull, 16-byte words, 2 a thread, blocks of 256"
  Statistics pitched{};  // rows only: one copy by the copy engine
  std::string pitched_how;
  std::string difference;  // first wrong word; empty if all are right
};

// Times copies from device 0 to device 1. `validate`: compares every float of the destination cube after the best
// kernel.
FaceLimit measure_face(const Devices& devices, Shape shape, int edge, int random_count, const Effort& effort,
                       bool validate);

}  // namespace bench
