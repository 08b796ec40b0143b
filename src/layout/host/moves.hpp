// Moves: the host engine's loops over memory, one set for each kind of vector unit, and the choice among the sets.
//
// If all segments of a layout have the same length, or can be divided into pieces of one length, the loop is selected
// by that length once, at commit (Layout::moves), and nothing is decided per segment. Blocks of other layouts are moved
// one by one. The sets are one source (loops.hpp) compiled for several instruction sets; on first use the library
// selects the best one that the machine can run. Owner: static data. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/count.hpp"
#include "layout/canonical.hpp"

namespace hr::layout::host {

struct Window;

// Segments in two dimensions, strided on both sides. Dimension 1 is the outer one.
struct Plane {
  Count n1, n0;
  Count to_stride1, to_stride0;
  Count from_stride1, from_stride0;
};

// Loops that move segments of one length. No segment may be written twice. Offsets of a list are relative to `origin`;
// on the other side the segments are contiguous.
struct RunMoves {
  void (*plane)(std::size_t length, std::byte* to, const std::byte* from, const Plane& plane) = nullptr;
  void (*pack_list)(std::size_t length, std::byte* to, const std::byte* origin, const std::int32_t* offsets,
                    std::size_t n) = nullptr;
  void (*unpack_list)(std::size_t length, std::byte* origin, const std::byte* from, const std::int32_t* offsets,
                      std::size_t n) = nullptr;
};

// Lengths with a dedicated loop, and ranges of lengths that share one.
enum RunClass : std::uint8_t {
  kRun1,
  kRun2,
  kRun3,
  kRun4,
  kRun5To7,
  kRun8,
  kRun9To15,
  kRun12,
  kRun16,
  kRun17To31,
  kRun24,
  kRun32,
  kRun33To63,
  kRun40,
  kRun48,
  kRun64,
  kRun65To127,
  kRun96,
  kRun128,
  kRunMedium,
  kRunLong,
  kRunClasses,
};

struct Moves {
  const char* name = nullptr;
  RunMoves runs[kRunClasses];
  std::size_t long_run = 0;  // minimum length for kRunLong; kRunMedium is used below it and above 128
  // Move blocks of any length.
  void (*pack_blocks)(std::byte* to, const std::byte* origin, const Block* blocks, std::size_t n) = nullptr;
  void (*unpack_blocks)(std::byte* origin, const std::byte* from, const Block* blocks, std::size_t n) = nullptr;
  // n patterns that fit into a window (window.hpp), window.stride apart; `typed` is the origin of the first. Null if
  // the set has no such loops.
  void (*pack_windows)(std::byte* to, const std::byte* typed, Count n, const Window& window) = nullptr;
  void (*unpack_windows)(std::byte* typed, const std::byte* from, Count n, const Window& window) = nullptr;

  [[nodiscard]] const RunMoves& of(Count length) const noexcept;  // length > 0
};

// Returns the sets that this machine can run, the best one last.
std::span<const Moves* const> all_moves() noexcept;
// Returns the best set that this machine can run.
const Moves& moves() noexcept;

}  // namespace hr::layout::host
