// Buffer accesses of real programs that the usual loops omit: a program writes the data it sends, so that only the
// sender's core has the cache lines, and reads the data it receives. A library that reads other processes' memory
// appears faster without either access.
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
