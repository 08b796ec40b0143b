// matched_long_arguments.hpp: arguments of the kernels of a matched collective operation in the program's buffers
// (src/enqueue/matched_long.hpp); shared by the kernels and the code that launches them.
#pragma once

#include <cstdint>

#include "matched_allreduce_arguments.hpp"
#include "reduce_arguments.hpp"

namespace hr::kernels {

static_assert(kMatchedRanks <= kReduceSides);

inline constexpr std::uint32_t kMatchedReadyThreads = 32;
inline constexpr std::uint32_t kMatchedLongThreads = 512;
inline constexpr std::uint64_t kMatchedLongMostBlocks = 64;  // MatchedLongWords has a word for each block
// Time after which an idle rank takes over parts that others have not begun.
inline constexpr std::uint64_t kMatchedLongPatience = 50000;  // nanoseconds

// Words of one rank, in its device's memory. Numbers of operations begin with 1.
struct MatchedLongWords {
  std::uint32_t released;                         // not 0: no data moves, and no kernel waits
  std::uint32_t started;                          // last operation that this rank has started
  std::uint32_t finished;                         // blocks that have ended, of a launch that starts and waits
  std::uint32_t done;                             // completed parts of all ranks' shares, over all operations
  std::uint32_t ready[kMatchedRanks];             // last operation that each other rank has started
  std::uint32_t claimed[kMatchedLongMostBlocks];  // for each part of this rank's share: last operation in which a rank
                                                  // has begun it
};

// Tells all ranks that this rank's buffers are ready.
struct MatchedReady {
  std::uint64_t own;                // MatchedLongWords of this rank
  std::uint64_t at[kMatchedRanks];  // this rank's word at each other rank; 0: none
};

// Moves or combines the data of all ranks. Each rank has a share of the data, and each block a part of the share. The
// elements of a share are at the same position in all buffers. A buffer for this share alone is an exception: its first
// element is the share's first. It is the rank's own block, from which data is gathered or to which it is scattered.
struct MatchedLong {
  std::uint64_t words[kMatchedRanks];  // MatchedLongWords of each rank
  std::uint64_t rank, ranks;
  std::uint64_t blocks;                    // blocks per launch; the same on all ranks
  std::uint64_t first[kMatchedRanks + 1];  // first element of each rank's share; then the end of the last share
  std::uint64_t starts;                    // not 0: the launch also starts the operation
  std::uint64_t at[kMatchedRanks];         // as in MatchedReady
  std::uint64_t own_input, own_output;     // not 0: a share's only input or output is the one with its rank's index
  std::uint64_t element;                   // bytes per element, for a copy
  ReduceArguments reduction;               // buffers and operation, for all elements
};

}  // namespace hr::kernels
