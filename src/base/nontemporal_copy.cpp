#include "base/nontemporal_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/cache_hints.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hr {

void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  // Writes whole lines, which the processor need not read first; 16 bytes at a time, as wider stores are no faster.
  const std::size_t head = std::min(bytes, (0 - reinterpret_cast<std::uintptr_t>(to)) % kCacheLine);
  std::memcpy(to, from, head);
  const std::byte* const last = from + head + (bytes - head) / kCacheLine * kCacheLine;
  std::byte* line = to + head;
  const std::byte* source = from + head;
  for (; source != last; source += kCacheLine, line += kCacheLine) {
    for (std::size_t at = 0; at < kCacheLine; at += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(line + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at)));
    }
  }
  std::memcpy(line, source, bytes - static_cast<std::size_t>(source - from));
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace hr
