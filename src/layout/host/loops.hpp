// The loops of one set of moves. Included only by the files moves_<instruction set>.cpp, each of which is compiled for
// its set.
//
// Everything is in an anonymous namespace and no inline function of the standard library is called: the linker must not
// replace a function of other parts of the library with one that only some machines can run.
//
// The length selects a Run once per call. For segments of up to 128 bytes, the innermost loop then has no branch and no
// call: either the length is a constant, or two accesses that overlap in the middle copy the segment.
#pragma once

#include "layout/host/gaps.hpp"
#include "layout/host/moves.hpp"
#include "layout/host/vector.hpp"
#include "layout/host/window_loops.hpp"

namespace hr::layout::host {
namespace {

// True if loops over segments of N bytes prefetch the lines of later segments. False for long segments: a store of a
// whole line does not need the old line, and fetching it would halve the speed.
template <std::size_t N>
constexpr bool prefetches = kWholeLines && N < 32;

// A segment of exactly N bytes.
template <std::size_t N>
struct FixedRun {
  static constexpr bool kPrefetches = prefetches<N>;
  explicit FixedRun(std::size_t) {}
  [[gnu::always_inline]] void operator()(std::byte* __restrict to, const std::byte* __restrict from) const {
    copy_bytes<N>(to, from);
  }
};

// Copies a segment that begins kHead bytes before a line, so that no store crosses a line.
template <std::size_t N, std::size_t kHead>
struct LineRun {
  [[gnu::always_inline]] void operator()(std::byte* __restrict to, const std::byte* __restrict from) const {
    copy_bytes<kHead>(to, from);
    copy_bytes<N - kHead>(to + kHead, from + kHead);
  }
};

// A segment of N to 2N bytes: copies the first N and the last N.
template <std::size_t N>
struct OverlapRun {
  static constexpr bool kPrefetches = prefetches<N>;
  std::size_t second;
  explicit OverlapRun(std::size_t length) : second(length - N) {}
  [[gnu::always_inline]] void operator()(std::byte* __restrict to, const std::byte* __restrict from) const {
    copy_bytes<N>(to, from);
    copy_bytes<N>(to + second, from + second);
  }
};

// Copies a segment in a few vectors. The last vector ends where the segment ends. If kLines, the vectors between the
// first and the last are aligned to lines.
template <bool kLines>
struct MediumRun {
  static constexpr bool kPrefetches = false;
  std::size_t last;
  explicit MediumRun(std::size_t length) : last(length - kVector) {}
  [[gnu::always_inline]] void operator()(std::byte* __restrict to, const std::byte* __restrict from) const {
    std::size_t i = 0;
    if constexpr (kLines) {
      copy_bytes<kVector>(to, from);
      i = kVector - reinterpret_cast<std::uintptr_t>(to) % kVector;
    }
    for (; i < last; i += kVector) {
      copy_bytes<kVector>(to + i, from + i);
      asm volatile("" : "+r"(i));  // keeps the compiler from turning the loop into a call of memcpy
    }
    copy_bytes<kVector>(to + last, from + last);
  }
};
constexpr std::size_t kLongRun = kVector <= 16 ? 129 : kWholeLines ? 768 : 256;

struct LongRun {
  static constexpr bool kPrefetches = false;
  std::size_t length;
  explicit LongRun(std::size_t bytes) : length(bytes) {}
  [[gnu::always_inline]] void operator()(std::byte* __restrict to, const std::byte* __restrict from) const {
    __builtin_memcpy(to, from, length);
  }
};

template <class Run>
[[gnu::always_inline]] inline void copy_1d(const Run& run, std::byte* __restrict to, Count to_stride,
                                           const std::byte* __restrict from, Count from_stride, Count n) {
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

// Copies rows of a few segments. The number N of segments in a row is a constant, so that a row needs no loop.
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
  for (Count i = plane.n1; i > 0; --i) {
    copy_1d(run, to, plane.to_stride0, from, plane.from_stride0, plane.n0);
    to += plane.to_stride1;
    from += plane.from_stride1;
  }
}

// Moves rows with short gaps on one side and none on the other, by whole vectors as far as possible. If kMany, stores
// are aligned to lines.
template <std::size_t N, bool kMany>
[[gnu::noinline]] void copy_gapped_rows(std::byte* to, const std::byte* from, const Plane& plane) {
  const FixedRun<N> run(N);
  const bool packs = plane.to_stride0 == static_cast<Count>(N);
  const Count to_stride = plane.to_stride0, from_stride = plane.from_stride0;
  for (Count i = plane.n1; i > 0; --i) {
    Count done = 0;
    if constexpr (kMany) {
      done = runs_to_line(to, to_stride);
      copy_1d(run, to, to_stride, from, from_stride, done);
    }
    std::byte* const rest_to = to + done * to_stride;
    const std::byte* const rest_from = from + done * from_stride;
    done += packs ? close_gaps<N, kMany>(rest_to, rest_from, from_stride, plane.n0 - done)
                  : open_gaps<N, kMany>(rest_to, to_stride, rest_from, plane.n0 - done);
    copy_1d(run, to + done * to_stride, to_stride, from + done * from_stride, from_stride, plane.n0 - done);
    to += plane.to_stride1;
    from += plane.from_stride1;
  }
}

// Transposed access: neighbours in memory are rows apart in the loop. kTile rows are moved at once, so that a cache
// line is fully used while it is in the cache. (No segment may be written twice, so any order is valid.)
constexpr Count kTile = 64;

template <class Run>
inline void copy_tiles(const Run& run, std::byte* to, const std::byte* from, const Plane& plane) {
  for (Count i = 0; i < plane.n1; i += kTile) {
    const Count rows = plane.n1 - i < kTile ? plane.n1 - i : kTile;
    copy_rows(run, to + i * plane.to_stride1, from + i * plane.from_stride1,
              {plane.n0, rows, plane.to_stride0, plane.to_stride1, plane.from_stride0, plane.from_stride1});
  }
}

inline bool crosses(Count stride1, Count stride0) {
  return stride1 <= 64 && stride1 >= -64 && (stride0 >= 256 || stride0 <= -256);
}
inline bool is_transposed(const Plane& plane) {
  if (plane.n1 < 4 || plane.n0 < 8) return false;
  return crosses(plane.to_stride1, plane.to_stride0) || crosses(plane.from_stride1, plane.from_stride0);
}

// Scattered stores to data that exceeds the caches: their lines are prefetched. (The hardware does that for loads.)
template <class Run>
[[gnu::noinline]] void scatter_rows(const Run& run, std::byte* to, const std::byte* from, const Plane& plane) {
  const Count ahead = 16 * plane.to_stride0;
  for (Count i = 0; i < plane.n1; ++i) {
    std::byte* row_to = to + i * plane.to_stride1;
    const std::byte* row_from = from + i * plane.from_stride1;
    for (Count n = plane.n0; n > 0; --n) {
      prefetch(row_to + ahead);
      run(row_to, row_from);
      row_to += plane.to_stride0;
      row_from += plane.from_stride0;
    }
  }
}
// True if every segment is in a separate line, and the lines exceed the cache.
inline bool scatters_far(const Plane& plane) {
  constexpr Count kLeastRow = 32;
  return plane.n0 >= kLeastRow && plane.n1 * plane.n0 * 64 >= kFar &&
         (plane.to_stride0 >= 64 || plane.to_stride0 <= -64);
}

template <class Run>
void move_plane(std::size_t length, std::byte* to, const std::byte* from, const Plane& plane) {
  const Run run(length);
  if (is_transposed(plane)) return copy_tiles(run, to, from, plane);
  if constexpr (Run::kPrefetches) {
    if (scatters_far(plane)) return scatter_rows(run, to, from, plane);
  }
  copy_rows(run, to, from, plane);
}

// Moves segments of two lines, which in memory from malloc() mostly begin 16 bytes after a line.
inline void move_plane_of_128(std::size_t length, std::byte* to, const std::byte* from, const Plane& plane) {
  if (kWholeLines && plane.n1 * plane.n0 >= 32 && plane.to_stride0 % 64 == 0 && plane.to_stride1 % 64 == 0 &&
      !is_transposed(plane)) {
    switch (reinterpret_cast<std::uintptr_t>(to) % 64) {
      case 16:
        return copy_rows(LineRun<128, 48>{}, to, from, plane);
      case 32:
        return copy_rows(LineRun<128, 32>{}, to, from, plane);
      case 48:
        return copy_rows(LineRun<128, 16>{}, to, from, plane);
      default:
        break;
    }
  }
  move_plane<FixedRun<128>>(length, to, from, plane);
}

template <std::size_t N>
void move_plane_gapped(std::size_t length, std::byte* to, const std::byte* from, const Plane& plane) {
  constexpr Count kDense = N;
  if (plane.n0 >= kLeastGapped<N>) {
    if ((plane.to_stride0 == kDense && closes_gaps<N>(plane.from_stride0)) ||
        (plane.from_stride0 == kDense && opens_gaps<N>(plane.to_stride0))) {
      if (kWholeLines && plane.n0 >= kManyGapped<N>) return copy_gapped_rows<N, kWholeLines>(to, from, plane);
      return copy_gapped_rows<N, false>(to, from, plane);
    }
  }
  move_plane<FixedRun<N>>(length, to, from, plane);
}

template <class Run>
void pack_list(std::size_t length, std::byte* to, const std::byte* origin, const std::int32_t* offsets, std::size_t n) {
  const Run run(length);
  const std::int32_t* const end = offsets + n;
  const auto four = [&]() __attribute__((always_inline)) {
    run(to, origin + offsets[0]);
    run(to + length, origin + offsets[1]);
    run(to + 2 * length, origin + offsets[2]);
    run(to + 3 * length, origin + offsets[3]);
    to += 4 * length;
    offsets += 4;
  };
  if constexpr (Run::kPrefetches) {
    if (static_cast<Count>(n * length) >= kFar) {  // within the second-level cache loads need no prefetching
      while (end - offsets >= kRunsAhead + 4) {
        for (int i = 0; i < 4; ++i) prefetch(origin + offsets[kRunsAhead + i]);
        four();
      }
    }
  }
  while (end - offsets >= 4) four();
  for (; offsets != end; ++offsets) {
    run(to, origin + *offsets);
    to += length;
  }
}

// Packs segments of eight bytes, with two loads per store.
inline void pack_list_of_8(std::size_t, std::byte* to, const std::byte* origin, const std::int32_t* offsets,
                           std::size_t n) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    store_pair(to + 8 * i, origin + offsets[i], origin + offsets[i + 1]);
    store_pair(to + 8 * i + 16, origin + offsets[i + 2], origin + offsets[i + 3]);
  }
  for (; i < n; ++i) copy_bytes<8>(to + 8 * i, origin + offsets[i]);
}

template <class Run>
void unpack_list(std::size_t length, std::byte* origin, const std::byte* from, const std::int32_t* offsets,
                 std::size_t n) {
  const Run run(length);
  const std::int32_t* const end = offsets + n;
  const auto four = [&]() __attribute__((always_inline)) {
    run(origin + offsets[0], from);
    run(origin + offsets[1], from + length);
    run(origin + offsets[2], from + 2 * length);
    run(origin + offsets[3], from + 3 * length);
    from += 4 * length;
    offsets += 4;
  };
  if constexpr (Run::kPrefetches) {
    if (static_cast<Count>(n * length) >= kBeyondFirst) {
      while (end - offsets >= kRunsAhead + 4) {
        for (int i = 0; i < 4; ++i) prefetch(origin + offsets[kRunsAhead + i]);
        four();
      }
    }
  }
  while (end - offsets >= 4) four();
  for (; offsets != end; ++offsets) {
    run(origin + *offsets, from);
    from += length;
  }
}

inline void pack_blocks(std::byte* to, const std::byte* origin, const Block* blocks, std::size_t n) {
  for (const Block* end = blocks + n; blocks != end; ++blocks) {
    const auto length = static_cast<std::size_t>(blocks->length);
    copy_any(to, origin + blocks->offset, length);
    to += length;
  }
}

inline void unpack_blocks(std::byte* origin, const std::byte* from, const Block* blocks, std::size_t n) {
  for (const Block* end = blocks + n; blocks != end; ++blocks) {
    const auto length = static_cast<std::size_t>(blocks->length);
    copy_any(origin + blocks->offset, from, length);
    from += length;
  }
}

template <class Run>
constexpr RunMoves kMoves{move_plane<Run>, pack_list<Run>, unpack_list<Run>};

// True if stores of medium segments are aligned to lines: the segments are not whole vectors, and there are enough
// segments. (Aligning whole vectors would only cost one more store.)
inline bool by_lines(std::size_t length, std::size_t n) {
  return kWholeLines && length % kVector != 0 && n * length >= 4096;
}
inline void move_medium_plane(std::size_t length, std::byte* to, const std::byte* from, const Plane& plane) {
  const bool lines = by_lines(length, static_cast<std::size_t>(plane.n1 * plane.n0));
  (lines ? move_plane<MediumRun<kWholeLines>> : move_plane<MediumRun<false>>)(length, to, from, plane);
}
inline void pack_medium_list(std::size_t length, std::byte* to, const std::byte* origin, const std::int32_t* offsets,
                             std::size_t n) {
  const bool lines = by_lines(length, n);
  (lines ? pack_list<MediumRun<kWholeLines>> : pack_list<MediumRun<false>>)(length, to, origin, offsets, n);
}
inline void unpack_medium_list(std::size_t length, std::byte* origin, const std::byte* from,
                               const std::int32_t* offsets, std::size_t n) {
  const bool lines = by_lines(length, n);
  (lines ? unpack_list<MediumRun<kWholeLines>> : unpack_list<MediumRun<false>>)(length, origin, from, offsets, n);
}

constexpr Moves make_moves(const char* name) {
  Moves all{};
  all.name = name;
  all.runs[kRun1] = kMoves<FixedRun<1>>;
  all.runs[kRun2] = kMoves<FixedRun<2>>;
  all.runs[kRun3] = kMoves<OverlapRun<2>>;
  all.runs[kRun4] = {move_plane_gapped<4>, pack_list<FixedRun<4>>, unpack_list<FixedRun<4>>};
  all.runs[kRun5To7] = kMoves<OverlapRun<4>>;
  all.runs[kRun8] = {move_plane_gapped<8>, pack_list_of_8, unpack_list<FixedRun<8>>};
  all.runs[kRun9To15] = kMoves<OverlapRun<8>>;
  all.runs[kRun12] = kMoves<FixedRun<12>>;
  all.runs[kRun16] = {move_plane_gapped<16>, pack_list<FixedRun<16>>, unpack_list<FixedRun<16>>};
  all.runs[kRun17To31] = kMoves<OverlapRun<16>>;
  all.runs[kRun24] = kMoves<FixedRun<24>>;
  all.runs[kRun32] = kMoves<FixedRun<32>>;
  all.runs[kRun33To63] = kMoves<OverlapRun<32>>;
  all.runs[kRun40] = kMoves<FixedRun<40>>;
  all.runs[kRun48] = kMoves<FixedRun<48>>;
  all.runs[kRun64] = kMoves<FixedRun<64>>;
  all.runs[kRun65To127] = kMoves<OverlapRun<64>>;
  all.runs[kRun96] = kMoves<FixedRun<96>>;
  all.runs[kRun128] = {move_plane_of_128, pack_list<FixedRun<128>>, unpack_list<FixedRun<128>>};
  all.runs[kRunMedium] = {move_medium_plane, pack_medium_list, unpack_medium_list};
  all.runs[kRunLong] = kMoves<LongRun>;
  all.long_run = kLongRun;
  all.pack_blocks = pack_blocks;
  all.unpack_blocks = unpack_blocks;
  if (kHasWindows) {
    all.pack_windows = pack_windows;
    all.unpack_windows = unpack_windows;
  }
  return all;
}

}  // namespace
}  // namespace hr::layout::host
