// Vectors of the instruction set that a file is compiled for, and short copies with them. Part of loops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace hr::layout::host {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr std::size_t kVector = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVector = 32;
#else
constexpr std::size_t kVector = 16;
#endif

// Type of one access, at any address, to data of any type.
template <std::size_t N>
struct Access;
template <>
struct Access<1> {
  using Type = unsigned char;
};
template <>
struct Access<2> {
  using Type [[gnu::aligned(1), gnu::may_alias]] = std::uint16_t;
};
template <>
struct Access<4> {
  using Type [[gnu::aligned(1), gnu::may_alias]] = std::uint32_t;
};
template <>
struct Access<8> {
  using Type [[gnu::aligned(1), gnu::may_alias]] = std::uint64_t;
};
template <>
struct Access<16> {
  using Type [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = unsigned char;
};
template <>
struct Access<32> {
  using Type [[gnu::vector_size(32), gnu::aligned(1), gnu::may_alias]] = unsigned char;
};
template <>
struct Access<64> {
  using Type [[gnu::vector_size(64), gnu::aligned(1), gnu::may_alias]] = unsigned char;
};

constexpr std::size_t widest(std::size_t bytes) {
  std::size_t width = kVector;
  while (width > bytes) width /= 2;
  return width;
}

// Copies exactly N bytes, with the fewest accesses that do not overlap.
template <std::size_t N>
[[gnu::always_inline]] inline void copy_bytes(std::byte* __restrict to, const std::byte* __restrict from) {
  constexpr std::size_t kWidth = widest(N);
  using Type = typename Access<kWidth>::Type;
  *reinterpret_cast<Type*>(to) = *reinterpret_cast<const Type*>(from);
  if constexpr (N > kWidth) copy_bytes<N - kWidth>(to + kWidth, from + kWidth);
}

// Copies eight bytes from each of two addresses to adjacent memory, with one store.
[[gnu::always_inline]] inline void store_pair(std::byte* __restrict to, const std::byte* __restrict first,
                                              const std::byte* __restrict second) {
  using Eight = Access<8>::Type;
  using Pair [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = std::uint64_t;
  *reinterpret_cast<Pair*>(to) = Pair{*reinterpret_cast<const Eight*>(first), *reinterpret_cast<const Eight*>(second)};
}

// The hardware does not prefetch for stores that leave bytes out, so a loop that writes at least kFar bytes prefetches
// the lines itself. Processors with vectors as long as a line benefit from this once the data exceeds the first-level
// cache; they also benefit from stores that do not cross lines. Older processors benefit from neither.
constexpr bool kWholeLines = kVector == 64;
constexpr std::int64_t kFar = std::int64_t{1} << 20;
constexpr std::int64_t kAhead = 1024;
// Minimum number of bytes for which prefetching pays: on processors with vectors as long as a line, about the size of
// the first-level cache.
constexpr std::int64_t kBeyondFirst = kWholeLines ? std::int64_t{32} << 10 : kFar;
constexpr std::int64_t kRunsAhead = 32;  // distance, in segments of a list, at which to prefetch

// Prefetches for a read: the line is then exclusive in this core's cache, so that the store needs no second request.
// (PREFETCHW was equally fast in lists, and slower than no prefetch for segments of two lines within the second-level
// cache.)
[[gnu::always_inline]] inline void prefetch(const std::byte* line) { __builtin_prefetch(line); }

// Returns the number of segments before the first one that begins at a line; 0 if none of the first 16 does. Vectors
// stored from there on do not cross lines.
inline std::int64_t runs_to_line(const std::byte* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < 16; ++i) {
    if (reinterpret_cast<std::uintptr_t>(to + i * stride) % 64 == 0) return i;
  }
  return 0;
}

// Copies N to 2N bytes.
template <std::size_t N>
[[gnu::always_inline]] inline void copy_overlapping(std::byte* __restrict to, const std::byte* __restrict from,
                                                    std::size_t length) {
  copy_bytes<N>(to, from);
  copy_bytes<N>(to + length - N, from + length - N);
}

// Copies any length except 0, for lengths that change from segment to segment.
[[gnu::always_inline]] inline void copy_any(std::byte* __restrict to, const std::byte* __restrict from,
                                            std::size_t length) {
  if (length > 128) {
    __builtin_memcpy(to, from, length);
    return;
  }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  // Masks avoid branches, which would be mispredicted if lengths change from segment to segment.
  if (length > 64) return copy_overlapping<64>(to, from, length);
  const __mmask64 mask = ~std::uint64_t{0} >> (64 - length);
  _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
#else
  if (length >= 16) {
    if (length > 64) return copy_overlapping<64>(to, from, length);
    if (length > 32) return copy_overlapping<32>(to, from, length);
    return copy_overlapping<16>(to, from, length);
  }
  if (length >= 8) return copy_overlapping<8>(to, from, length);
  if (length >= 4) return copy_overlapping<4>(to, from, length);
  if (length >= 2) return copy_overlapping<2>(to, from, length);
  *to = *from;
#endif
}

}  // namespace
}  // namespace hr::layout::host
