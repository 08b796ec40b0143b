// matched_allreduce_arguments.hpp: arguments of the kernels of a matched allreduce (src/enqueue/matched_allreduce.hpp);
// shared by the kernels and the code that launches them.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr std::uint32_t kMatchedThreads = 256;
inline constexpr std::uint32_t kMatchedRanks = 16;
inline constexpr std::uint32_t kMatchedGenerations = 2;
// Elements per block if the kernel waits for lines, and the maximum number of blocks of such a kernel.
inline constexpr std::uint64_t kMatchedBlockElements = 512;
inline constexpr std::uint64_t kMatchedMostBlocks = 16;
// Bytes of a vector that a block puts in lines, and the maximum number of blocks per vector.
inline constexpr std::uint64_t kMatchedPartBytes = 2048;
inline constexpr std::uint64_t kMatchedMostParts = 32;

// Words of one rank, in its device's memory.
struct MatchedWords {
  std::uint32_t released;                                // not 0: nothing moves any more
  std::uint32_t ended;                                   // reductions that this rank has ended
  std::uint32_t finished;                                // blocks that have combined their part this time
  std::uint32_t put[kMatchedRanks * kMatchedMostParts];  // parts that each block has put
  std::uint32_t ready[kMatchedRanks];                    // full slots of each rank; the stream waits until there is one
};
// Value that a release stores in `ready`, so that no stream waits any more.
inline constexpr std::uint32_t kMatchedReleased = std::uint32_t{1} << 30;

// Puts a rank's vector into the slots of all ranks.
struct MatchedPut {
  std::uint64_t own;  // MatchedWords of this rank
  std::uint64_t from, bytes;
  std::uint64_t generation;            // bytes from the slots of one generation to those of the next
  std::uint64_t to[kMatchedRanks];     // this rank's slot at each rank
  std::uint64_t ready[kMatchedRanks];  // this rank's word at each rank; 0: this rank itself
  std::uint64_t lines;                 // not 0: the slots hold lines (matched_copy.hpp), and `ready` is not used
  std::uint64_t parts;                 // blocks for each rank's slot; 1 unless the slots hold lines
};

// Combines the slots of all ranks. All fields have the width of an address, as the fake driver examines each.
struct MatchedEnd {
  std::uint64_t own;
  std::uint64_t slots, slot;  // slots of rank 0, and bytes from one rank's slot to the next
  std::uint64_t generation;
  std::uint64_t to, count;  // result, and number of its elements (of the kernel's type)
  std::uint64_t ranks, rank;
  std::uint64_t op;       // ReduceOp
  std::uint64_t vectors;  // not 0: `to` is aligned to 16 bytes
  std::uint64_t lines;    // not 0: the slots hold lines, for which the kernel waits
};

// Puts and combines in one launch, if the slots hold lines.
struct MatchedBoth {
  MatchedPut put;
  MatchedEnd end;
};

}  // namespace hr::kernels
