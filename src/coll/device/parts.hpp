// The parts of a vector that several GPUs combine, one part each.
//
// Threads: any.
#pragma once

#include <algorithm>

#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "layout/device/reduce.hpp"

namespace hr::coll::device {

// Sets the elements that a reduction combines: one part of `count` elements. Parts begin at multiples of `grain`
// elements, so that wide accesses are aligned to cache lines.
inline void take_part(layout::device::Reduction& reduction, Count count, Count grain,
                      const DeviceBuffers::Part& part) noexcept {
  const Cut cut{(count + grain - 1) / grain, part.count};
  reduction.first = std::min(count, cut.begin(part.index) * grain);
  reduction.count = std::min(count, cut.begin(part.index + 1) * grain) - reduction.first;
}

}  // namespace hr::coll::device
