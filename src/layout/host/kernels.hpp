// Loops of the host engine: n (or n1 x n0) runs of one length, from strided to strided addresses.
//
// The length picks a Run once a call, so that the innermost loop has no branch and no call for runs below 128
// bytes: either the length is a constant, or the run is copied by two accesses that overlap in its middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/count.hpp"

namespace hr::layout::host {

// Exactly N bytes.
template <std::size_t N>
struct FixedRun {
  explicit FixedRun(std::size_t) {}
  void operator()(std::byte* __restrict to, const std::byte* __restrict from) const { std::memcpy(to, from, N); }
};

// N to 2N bytes: the first N and the last N.
template <std::size_t N>
struct OverlapRun {
  std::size_t second;
  explicit OverlapRun(std::size_t length) : second(length - N) {}
  void operator()(std::byte* __restrict to, const std::byte* __restrict from) const {
    struct Part {
      std::byte bytes[N];
    };
    Part head, tail;
    std::memcpy(&head, from, N);
    std::memcpy(&tail, from + second, N);
    std::memcpy(to, &head, N);
    std::memcpy(to + second, &tail, N);
  }
};

struct LongRun {
  std::size_t length;
  explicit LongRun(std::size_t bytes) : length(bytes) {}
  void operator()(std::byte* __restrict to, const std::byte* __restrict from) const { std::memcpy(to, from, length); }
};

// Calls use(run) with the Run for the length (> 0).
template <class Use>
inline void with_run(std::size_t length, Use&& use) {
  switch (length) {
    case 1:
      return use(FixedRun<1>(length));
    case 2:
      return use(FixedRun<2>(length));
    case 4:
      return use(FixedRun<4>(length));
    case 8:
      return use(FixedRun<8>(length));
    case 12:
      return use(FixedRun<12>(length));
    case 16:
      return use(FixedRun<16>(length));
    case 24:
      return use(FixedRun<24>(length));
    case 32:
      return use(FixedRun<32>(length));
    case 40:
      return use(FixedRun<40>(length));
    case 48:
      return use(FixedRun<48>(length));
    case 64:
      return use(FixedRun<64>(length));
    default:
      break;
  }
  if (length < 4) return use(OverlapRun<2>(length));
  if (length < 8) return use(OverlapRun<4>(length));
  if (length < 16) return use(OverlapRun<8>(length));
  if (length < 32) return use(OverlapRun<16>(length));
  if (length < 64) return use(OverlapRun<32>(length));
  if (length < 128) return use(OverlapRun<64>(length));
  return use(LongRun(length));
}

template <class Run>
inline void copy_1d(const Run& run, std::byte* __restrict to, Count to_stride, const std::byte* __restrict from,
                    Count from_stride, Count n) {
  for (; n >= 4; n -= 4) {
    run(to, from);
    run(to + to_stride, from + from_stride);
    run(to + 2 * to_stride, from + 2 * from_stride);
    run(to + 3 * to_stride, from + 3 * from_stride);
    to += 4 * to_stride;
    from += 4 * from_stride;
  }
  for (; n > 0; --n) {
    run(to, from);
    to += to_stride;
    from += from_stride;
  }
}

// Two dimensions, [1] the outer one.
struct Plane {
  Count n1, n0;
  Count to_stride1, to_stride0;
  Count from_stride1, from_stride0;
};

// Rows of a few runs: N is the row's length, so that a row is straight code.
template <int N, class Run>
inline void copy_short_rows(const Run& run, std::byte* __restrict to, const std::byte* __restrict from,
                            const Plane& plane) {
  const Count to_stride0 = plane.to_stride0, from_stride0 = plane.from_stride0;
  const Count to_stride1 = plane.to_stride1, from_stride1 = plane.from_stride1;
  for (Count i = plane.n1; i > 0; --i) {
    for (int j = 0; j < N; ++j) run(to + j * to_stride0, from + j * from_stride0);
    to += to_stride1;
    from += from_stride1;
  }
}

template <class Run>
inline void copy_rows(const Run& run, std::byte* to, const std::byte* from, const Plane& plane) {
  switch (plane.n0) {
    case 2:
      return copy_short_rows<2>(run, to, from, plane);
    case 3:
      return copy_short_rows<3>(run, to, from, plane);
    case 4:
      return copy_short_rows<4>(run, to, from, plane);
    default:
      break;
  }
  for (Count i = 0; i < plane.n1; ++i) {
    copy_1d(run, to + i * plane.to_stride1, plane.to_stride0, from + i * plane.from_stride1, plane.from_stride0,
            plane.n0);
  }
}

// Transposed access: neighbours in memory are rows apart in the loop. kTile rows go at once, so that a cache line is
// used up while it is there. (No run may be written twice, so the order is free.)
inline constexpr Count kTile = 64;

template <class Run>
inline void copy_tiles(const Run& run, std::byte* to, const std::byte* from, const Plane& plane) {
  for (Count i = 0; i < plane.n1; i += kTile) {
    const Count rows = std::min(kTile, plane.n1 - i);
    copy_rows(run, to + i * plane.to_stride1, from + i * plane.from_stride1,
              {plane.n0, rows, plane.to_stride0, plane.to_stride1, plane.from_stride0, plane.from_stride1});
  }
}

inline bool is_transposed(const Plane& plane) {
  if (plane.n1 < 4 || plane.n0 < 8) return false;
  const auto crosses = [](Count stride1, Count stride0) { return std::abs(stride1) <= 64 && std::abs(stride0) >= 256; };
  return crosses(plane.to_stride1, plane.to_stride0) || crosses(plane.from_stride1, plane.from_stride0);
}

inline void copy_2d(std::size_t length, std::byte* to, const std::byte* from, const Plane& plane) {
  if (is_transposed(plane)) {
    with_run(length, [&](const auto& run) { copy_tiles(run, to, from, plane); });
  } else {
    with_run(length, [&](const auto& run) { copy_rows(run, to, from, plane); });
  }
}

// One run of any length.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t length) {
  if (length < 128) {
    with_run(length, [&](const auto& run) { run(to, from); });
  } else {
    std::memcpy(to, from, length);
  }
}

}  // namespace hr::layout::host
