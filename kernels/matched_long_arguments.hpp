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
// Time after which an idle rank combines parts that others have not begun.
inline constexpr std::uint64_t kMatchedLongPatience = 50000;  // nanoseconds

// Words of one rank, in its device's memory. Numbers of reductions begin with 1.
struct MatchedLongWords {
  std::uint32_t released;                         // not 0: no data moves, and no kernel waits
  std::uint32_t started;                          // last reduction that this rank has started
  std::uint32_t done;                             // parts in this rank's buffer, over all reductions
  std::uint32_t ready[kMatchedRanks];             // last reduction that each other rank has started
  std::uint32_t claimed[kMatchedLongMostBlocks];  // for each part of this rank's share: last reduction in which a rank
                                                  // has begun it
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
  std::uint64_t blocks;       // blocks per launch; the same on all ranks
  std::uint64_t share;        // elements
  ReduceArguments reduction;  // of all elements; inputs and outputs in the order of ranks
};

}  // namespace hr::kernels
