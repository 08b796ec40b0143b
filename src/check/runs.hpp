// Runs: the bytes that a buffer covers, as runs of memory, and whether two buffers have some in common.
// Internal to check/.
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
struct Run {
  std::uintptr_t begin;
  std::uintptr_t end;
};
// From the first to the last.
Run span_of(const Region& region) noexcept;
// All of them, by address, neighbours joined. False: too many to look at.
bool collect_runs(const Region& region, std::vector<Run>* runs);

// The first byte that both have; 0: none. Of layouts with very many runs, whether one of them is in the other's span is
// not looked at: 0.
std::uintptr_t overlap(const Region& a, const Region& b);

}  // namespace hr::check
