// What programs do to their buffers and the usual loops leave out: data that is sent is new, so that its cache lines
// are the sender's alone, and data that came is looked at. A library that reads other processes' memory is faster where
// nobody does either.
#pragma once

#include <cstddef>

namespace bench {

inline constexpr std::size_t kTouchedEvery = 64;  // bytes: a cache line

inline void write_lines(void* buffer, std::size_t bytes) {
  auto* const data = static_cast<volatile char*>(buffer);
  for (std::size_t at = 0; at < bytes; at += kTouchedEvery) data[at] = data[at];
}

inline void read_lines(const void* buffer, std::size_t bytes) {
  const auto* const data = static_cast<const volatile char*>(buffer);
  for (std::size_t at = 0; at < bytes; at += kTouchedEvery) static_cast<void>(data[at]);
}

}  // namespace bench
