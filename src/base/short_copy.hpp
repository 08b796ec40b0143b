// Copies of mostly short data, such as small messages: inlined as loads and stores that may overlap.
#pragma once

#include <cstddef>
#include <cstring>

namespace hr {

namespace detail {
// Copies the first and the last `kPart` bytes, which together cover all `bytes`: kPart <= bytes <= 2 * kPart.
template <std::size_t kPart>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::byte first[kPart];
  std::byte last[kPart];
  std::memcpy(first, from, kPart);
  std::memcpy(last, from + bytes - kPart, kPart);
  std::memcpy(to, first, kPart);
  std::memcpy(to + bytes - kPart, last, kPart);
}
}  // namespace detail

// Copies any length; the ranges do not overlap.
[[gnu::always_inline]] inline void copy_short(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes > 32) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    detail::copy_ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    detail::copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    detail::copy_ends<4>(to, from, bytes);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

}  // namespace hr
