// The parts of a vector that several GPUs combine, one part each.
//
// Threads: any.
#pragma once

#include <algorithm>

#include "coll/reduction.hpp"
#include "layout/device/reduce.hpp"

namespace hr::coll::device {

// Sets the elements that a reduction combines: part number `part` of `parts` parts of `count` elements. Parts begin at
// multiples of `grain` elements, so that wide accesses are aligned to cache lines.
inline void take_part(layout::device::Reduction& reduction, Count count, Count grain, int part, int parts) noexcept {
  const Cut cut{(count + grain - 1) / grain, parts};
  reduction.first = std::min(count, cut.begin(part) * grain);
  reduction.count = std::min(count, cut.begin(part + 1) * grain) - reduction.first;
}

}  // namespace hr::coll::device
