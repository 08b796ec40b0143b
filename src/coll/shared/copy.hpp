// Copies into shared memory, for others to read.
//
// The usual way lines are asked for ahead of the stores, which keeps many on their way at once (20 % more bandwidth
// between two cores of an Intel processor; base/cache_lines.hpp). To readers that are far away data goes past the
// caches (base/past_caches.hpp).
#pragma once

#include <cstring>

#include "base/cache_lines.hpp"
#include "base/past_caches.hpp"
#include "coll/messages.hpp"
#include "coll/shared/area.hpp"

namespace hr::coll::shared {

// Shorter data gains nothing past the caches, where a message does: no nearest cache has the lines of its cell any more
// (area.hpp).
inline constexpr std::size_t kLeastPastCaches = 2048;

// For readers nearby.
inline void copy_in_near(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  for (const bool ask = takes_back(); ask && bytes >= kTakeBackBytes; bytes -= kTakeBackBytes) {
    take_back(to, kTakeBackBytes);
    std::memcpy(to, from, kTakeBackBytes);
    to += kTakeBackBytes;
    from += kTakeBackBytes;
  }
  std::memcpy(to, from, bytes);
}

// For all members.
inline void copy_in(const Call& call, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes >= kLeastPastCaches && call.area->readers_are_far()) {
    copy_past_caches(to, from, bytes);
  } else {
    copy_in_near(to, from, bytes);
  }
}

// The same of bytes [offset, offset + bytes) of a view's packed form.
[[nodiscard]] inline Status pack_in(const Call& call, const View& from, std::size_t offset, std::size_t bytes,
                                    std::byte* to) {
  if (!from.plain_host()) return layout::pack(from, offset, bytes, to);
  copy_in(call, to, from.data() + offset, bytes);
  return kOk;
}

// The same of elements, which have the layout of their type there.
[[nodiscard]] inline Status copy_in(const Call& call, const View& from, const View& to) {
  if (!from.plain_host() || !to.contiguous) return layout::copy(from, to);
  copy_in(call, to.data(), from.data(), from.packed);
  return kOk;
}

}  // namespace hr::coll::shared
