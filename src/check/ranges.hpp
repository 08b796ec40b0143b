// Ranges: the bytes that a buffer covers, as ranges of memory, and the overlap of two buffers. Internal to check/.
#pragma once

#include <cstdint>
#include <vector>

#include "base/count.hpp"
#include "layout/datatype.hpp"

namespace hr::check {

// Data in memory: `count` elements of a committed type.
struct Region {
  std::uintptr_t address;
  const layout::Datatype& type;
  Count count;
};

// Bytes of memory: [begin, end).
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};
// Returns the span from the first byte to the last.
Range span_of(const Region& region) noexcept;
// Collects all ranges, sorted by address, with adjacent ones joined; false if there are too many.
bool collect_ranges(const Region& region, std::vector<Range>* ranges);

// Returns the first byte that is in both regions; 0 if there is none, or if a layout has too many ranges to be
// searched.
std::uintptr_t overlap(const Region& a, const Region& b);

}  // namespace hr::check
