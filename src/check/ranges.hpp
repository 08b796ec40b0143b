// Ranges: the bytes that a buffer covers, as ranges of memory, and the overlap of two buffers. Internal to check/.
#pragma once

#include <cstdint>
#include <vector>

#include "base/count.hpp"
#include "layout/datatype.hpp"

namespace hr::check {

// Data in memory: count elements of a committed type.
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
// Collects all ranges, by address, neighbours joined. False: too many to look at.
bool collect_ranges(const Region& region, std::vector<Range>* ranges);

// Returns the first byte that both have; 0: none. Layouts with very many ranges are not searched for a range in the
// other's span: 0.
std::uintptr_t overlap(const Region& a, const Region& b);

}  // namespace hr::check
