// Hints to a core's caches for cache lines that two processes write and read in turn. They order nothing and change no
// value; a processor without these instructions ignores them.
//
// A line that another core has read must be fetched back before it can be written (a round trip), and one that a core
// has just written must be fetched from its cache by the reader (another round trip). Both can be done earlier:
//   prefetch_for_write()   fetches lines that this core will write soon, so that their round trips are over by then
//   demote()   moves lines that this core has written to the cache that all cores share, closer to the reader
//                 (Intel's CLDEMOTE, from Sapphire Rapids on)
// They pay only if the two processes take turns: a reader that lags behind finds demoted lines farther away, and a
// writer on the same core has to fetch them back. They do not pay for short flags that both write at the same time
// (ADR 13).
//
// Threads: any.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hr {

inline constexpr std::size_t kCacheLine = 64;

// Maximum; demoting more costs the writer more time than it saves the reader.
inline constexpr std::size_t kMaxDemoteBytes = 1024;
// Maximum; more requests than a core can have pending would delay later ones.
inline constexpr std::size_t kMaxPrefetchBytes = 4096;

// Demotes [start, start + bytes), or only its beginning if it is long.
inline void demote([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__x86_64__)
  const auto* line = static_cast<const char*>(start);
  const auto* const end = line + std::min(bytes, kMaxDemoteBytes);
  for (; line < end; line += kCacheLine) asm volatile("cldemote %0" : : "m"(*line));
#endif
}

// False on AMD processors, which acquire whole lines without their data when they copy by `rep movsb`; prefetching
// them first would defeat that.
inline bool prefetches_for_write() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

// Prefetches [start, start + bytes), or only its beginning if it is long; does nothing unless prefetches_for_write().
inline void prefetch_for_write([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if (!prefetches_for_write()) return;
  const auto* line = static_cast<const char*>(start);
  const auto* const end = line + std::min(bytes, kMaxPrefetchBytes);
  for (; line < end; line += kCacheLine) asm volatile("prefetchw %0" : : "m"(*line));
#endif
}

}  // namespace hr
