// matched_long_arguments.hpp: arguments of the kernels of a long matched allreduce (src/enqueue/matched_long.hpp);
// shared by the kernels and the code that launches them.
#pragma once

#include <cstdint>

#include "matched_allreduce_arguments.hpp"
#include "reduce_arguments.hpp"

namespace hr::kernels {

static_assert(kMatchedRanks <= kReduceSides);

inline constexpr std::uint32_t kMatchedReadyThreads = 32;
inline constexpr std::uint32_t kMatchedLongThreads = 512;
inline constexpr std::uint64_t kMatchedLongMostBlocks = 32;
// Time after which a rank that has nothing left to do combines parts that others have not begun.
inline constexpr std::uint64_t kMatchedLongPatience = 50000;  // nanoseconds

// Words of one rank, in its device's memory. Numbers of reductions begin with 1.
struct MatchedLongWords {
  std::uint32_t released;                         // not 0: nothing moves and nothing waits any more
  std::uint32_t started;                          // the reduction that this rank has started last
  std::uint32_t done;                             // parts that are in this rank's buffer, of all reductions
  std::uint32_t ready[kMatchedRanks];             // the reduction that each other rank has started last
  std::uint32_t claimed[kMatchedLongMostBlocks];  // for each part of this rank's share: the last reduction in which
                                                  // somebody has begun it
};

// Tells all ranks that this rank's buffers are ready.
struct MatchedReady {
  std::uint64_t own;                // MatchedLongWords of this rank
  std::uint64_t at[kMatchedRanks];  // this rank's word at each other rank; 0: none
};

// Combines the buffers of all ranks. Each rank has a share of the elements, and each block a part of the share.
struct MatchedLong {
  std::uint64_t words[kMatchedRanks];  // MatchedLongWords of each rank
  std::uint64_t rank, ranks;
  std::uint64_t blocks;       // of the launch; the same at all ranks
  std::uint64_t share;        // elements
  ReduceArguments reduction;  // of all elements; inputs and outputs in the order of ranks
};

}  // namespace hr::kernels
