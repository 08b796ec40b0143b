// Copies into memory that another core has read last. Its lines must first be taken back from there, one round trip
// each. On Intel's processors asking for them ahead of the stores keeps many on their way at once (20 % more bandwidth
// between two cores); AMD's take whole lines without their data when the library copies by `rep movsb`, which asking
// would spoil (half the bandwidth).
#pragma once

#include <cstring>

#include "coll/messages.hpp"

namespace hr::coll::shared {

inline void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  constexpr std::size_t kAhead = 4096;
  constexpr std::size_t kCacheLine = 64;
  const bool ask = __builtin_cpu_is("intel") != 0;
  while (ask && bytes >= kAhead) {
    for (std::size_t line = 0; line < kAhead; line += kCacheLine) asm volatile("prefetchw %0" : : "m"(to[line]));
    std::memcpy(to, from, kAhead);
    to += kAhead;
    from += kAhead;
    bytes -= kAhead;
  }
#endif
  std::memcpy(to, from, bytes);
}

// Bytes [offset, offset + bytes) of a view's packed form into shared memory.
[[nodiscard]] inline Status pack_in(const View& from, std::size_t offset, std::size_t bytes, std::byte* to) {
  if (!from.plain_host()) return layout::pack(from, offset, bytes, to);
  copy_in(to, from.data() + offset, bytes);
  return kOk;
}

// Elements into shared memory that holds them with the layout of their type.
[[nodiscard]] inline Status copy_in(const View& from, const View& to) {
  if (!from.plain_host() || !to.contiguous) return layout::copy(from, to);
  copy_in(to.data(), from.data(), from.packed);
  return kOk;
}

}  // namespace hr::coll::shared
