// The bare limit for the sets of floats of bench/faces.cpp: the fastest of the kernels of limits/kernels.cu that fit,
// with several block sizes, and, for the contiguous face, of copies with a copy engine. Each is tried on the source's
// device and on the destination's.
#pragma once

#include <string>

#include "faces/shape.hpp"
#include "limits/clock.hpp"
#include "limits/devices.hpp"

namespace bench {

struct FaceLimit {
  std::size_t bytes = 0;
  Statistics best{};
  std::string how;       // e.g. "pull, 16-byte words, 2 a thread, blocks of 256"
  Statistics pitched{};  // rows only: one copy with a copy engine
  std::string pitched_how;
  std::string difference;  // first wrong word; empty if all are correct
};

// Times copies from device 0 to device 1. `validate`: compares every float of the destination cube after a copy with
// the best kernel.
FaceLimit measure_face(const Devices& devices, Shape shape, int edge, int random_count, const Effort& effort,
                       bool validate);

}  // namespace bench
