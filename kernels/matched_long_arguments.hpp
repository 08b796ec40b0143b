// matched_long_arguments.hpp: arguments of the kernels of a matched collective operation in the buffers of the program
// (src/enqueue/matched_long.hpp); shared by the kernels and the code that launches them.
#pragma once

#include <cstdint>

#include "matched_allreduce_arguments.hpp"
#include "reduce_arguments.hpp"

namespace hr::kernels {

static_assert(kMatchedRanks <= kReduceSides);

inline constexpr std::uint32_t kMatchedReadyThreads = 32;
inline constexpr std::uint32_t kMatchedLongThreads = 512;
inline constexpr std::uint64_t kMatchedLongMostBlocks = 64;  // for which there are words
// Time after which a rank that has nothing left to do combines parts that others have not begun.
inline constexpr std::uint64_t kMatchedLongPatience = 50000;  // nanoseconds

// Words of one rank, in its device's memory. Numbers of operations begin with 1.
struct MatchedLongWords {
  std::uint32_t released;                         // not 0: nothing moves and nothing waits any more
  std::uint32_t started;                          // the operation that this rank has started last
  std::uint32_t finished;                         // blocks of a launch that starts and waits which have ended
  std::uint32_t done;                             // parts that are over at all ranks, of all operations
  std::uint32_t ready[kMatchedRanks];             // the operation that each other rank has started last
  std::uint32_t claimed[kMatchedLongMostBlocks];  // for each part of this rank's share: the last operation in which
                                                  // somebody has begun it
};

// Tells all ranks that this rank's buffers are ready.
struct MatchedReady {
  std::uint64_t own;                // MatchedLongWords of this rank
  std::uint64_t at[kMatchedRanks];  // this rank's word at each other rank; 0: none
};

// Moves or combines the data of all ranks. Each rank has a share of it, and each block a part of the share. The
// elements of a share are at the same place in all buffers, unless it has a buffer of its own, where they come first: a
// block that its rank gathers from, or scatters to.
struct MatchedLong {
  std::uint64_t words[kMatchedRanks];  // MatchedLongWords of each rank
  std::uint64_t rank, ranks;
  std::uint64_t blocks;                    // of the launch; the same at all ranks
  std::uint64_t first[kMatchedRanks + 1];  // element of each rank's share; the end of the last one's
  std::uint64_t starts;                    // not 0: the launch starts the operation, too
  std::uint64_t at[kMatchedRanks];         // as in MatchedReady
  std::uint64_t own_input, own_output;     // not 0: a share's input or output is the one with its rank's index alone
  std::uint64_t element;                   // bytes; for a copy
  ReduceArguments reduction;               // of all elements
};

}  // namespace hr::kernels
