// Telling a core's caches what comes next for lines that two processes write and read in turns. Hints: they order
// nothing and change no value; a processor that does not know them does nothing.
//
// A line that another core has read must be taken back before it can be written (a round trip), and one that a core has
// just written is fetched out of its own cache by the reader (another one). Both can be had earlier:
//   prefetch_for_write()   asks for lines that this core writes soon, so that their round trips are over by then
//   demote()   sends lines that this core has written to the cache that all share, where the reader finds them half
//                 way (Intel's CLDEMOTE, from Sapphire Rapids on)
// Worth it only where the two take turns: a reader that lags behind finds lines handed over farther away, and a writer
// on the same core has to fetch them back. Nor for short flags that both write at the same time (ADR 13).
//
// Threads: any.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hr {

inline constexpr std::size_t kCacheLine = 64;

// At most; beyond this handing over takes the writer longer than it saves the reader.
inline constexpr std::size_t kMaxDemoteBytes = 1024;
// At most; more requests than a core can have under way hold up what comes after them.
inline constexpr std::size_t kMaxPrefetchBytes = 4096;

// [start, start + bytes), of which the beginning where that is long.
inline void demote([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__x86_64__)
  const auto* line = static_cast<const char*>(start);
  const auto* const end = line + std::min(bytes, kMaxDemoteBytes);
  for (; line < end; line += kCacheLine) asm volatile("cldemote %0" : : "m"(*line));
#endif
}

// Not for AMD's processors, which take whole lines without their data when they copy by `rep movsb`; asking first would
// spoil that.
inline bool prefetches_for_write() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

// The same range; where prefetches_for_write(), elsewhere nothing.
inline void prefetch_for_write([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if (!prefetches_for_write()) return;
  const auto* line = static_cast<const char*>(start);
  const auto* const end = line + std::min(bytes, kMaxPrefetchBytes);
  for (; line < end; line += kCacheLine) asm volatile("prefetchw %0" : : "m"(*line));
#endif
}

}  // namespace hr
