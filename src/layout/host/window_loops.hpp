// The loops for patterns that fit into a window (window.hpp), for processors that can permute bytes. Part of loops.hpp.
#pragma once

#include "layout/host/vector.hpp"
#include "layout/host/window.hpp"

namespace hr::layout::host {
namespace {

#if defined(__AVX512VBMI__)

constexpr bool kHasWindows = true;

// Returns the mask of those bytes of a window that are data of the first `patterns` patterns.
inline std::uint64_t window_bytes(const Window& window, Count patterns) {
  std::uint64_t bytes = window.bytes;
  for (Count i = 1; i < patterns; ++i) bytes |= window.bytes << (i * window.stride);
  return bytes;
}
inline std::uint64_t packed_bytes(const Window& window, Count patterns) {
  return ~std::uint64_t{0} >> (64 - patterns * window.pattern);
}

inline void pack_step(std::byte* to, const std::byte* from, __m512i gather, __mmask64 bytes, __mmask64 packed) {
  const __m512i data = _mm512_maskz_loadu_epi8(bytes, from);
  _mm512_mask_storeu_epi8(to, packed, _mm512_maskz_permutexvar_epi8(packed, gather, data));
}
inline void unpack_step(std::byte* to, const std::byte* from, __m512i scatter, __mmask64 bytes, __mmask64 packed) {
  const __m512i data = _mm512_maskz_loadu_epi8(packed, from);
  _mm512_mask_storeu_epi8(to, bytes, _mm512_maskz_permutexvar_epi8(bytes, scatter, data));
}

// Steps of a loop over windows.
struct WindowSteps {
  Count some, step, packed_step;  // patterns per step, and the number of bytes by which a step advances on each side
  __mmask64 bytes, packed;        // masks of a step
  explicit WindowSteps(const Window& window)
      : some(window.patterns),
        step(some * window.stride),
        packed_step(some * window.pattern),
        bytes(window_bytes(window, some)),
        packed(packed_bytes(window, some)) {}
};

template <bool kPrefetch>
inline void pack_windows_loop(std::byte* to, const std::byte* typed, Count n, const Window& window) {
  const WindowSteps steps(window);
  const __m512i gather = _mm512_load_si512(window.gather);
  for (; n >= steps.some; n -= steps.some) {
    if constexpr (kPrefetch) __builtin_prefetch(to + kAhead, 1);
    pack_step(to, typed, gather, steps.bytes, steps.packed);
    typed += steps.step;
    to += steps.packed_step;
  }
  if (n > 0) pack_step(to, typed, gather, window_bytes(window, n), packed_bytes(window, n));
}

template <bool kPrefetch>
inline void unpack_windows_loop(std::byte* typed, const std::byte* from, Count n, const Window& window) {
  const WindowSteps steps(window);
  const __m512i scatter = _mm512_load_si512(window.scatter);
  // A window may touch two lines. Prefetching one line per step is enough, as a step covers most of a line.
  const Count ahead = steps.step > 0 ? kAhead : -kAhead;
  for (; n >= steps.some; n -= steps.some) {
    if constexpr (kPrefetch) __builtin_prefetch(typed + ahead, 1);
    unpack_step(typed, from, scatter, steps.bytes, steps.packed);
    typed += steps.step;
    from += steps.packed_step;
  }
  if (n > 0) unpack_step(typed, from, scatter, window_bytes(window, n), packed_bytes(window, n));
}

// Both functions move n patterns from or to `typed`, the origin of the first pattern.
inline void pack_windows(std::byte* to, const std::byte* typed, Count n, const Window& window) {
  const bool far = n * window.pattern >= kFar;
  (far ? pack_windows_loop<true> : pack_windows_loop<false>)(to, typed + window.lowest, n, window);
}
inline void unpack_windows(std::byte* typed, const std::byte* from, Count n, const Window& window) {
  const bool far = n * window.pattern >= kFar;
  (far ? unpack_windows_loop<true> : unpack_windows_loop<false>)(typed + window.lowest, from, n, window);
}

#else

constexpr bool kHasWindows = false;
inline void pack_windows(std::byte*, const std::byte*, Count, const Window&) {}
inline void unpack_windows(std::byte*, const std::byte*, Count, const Window&) {}

#endif

}  // namespace
}  // namespace hr::layout::host
