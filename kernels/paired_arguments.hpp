// paired_arguments.hpp: arguments of the kernel that moves messages of matched pairs (src/enqueue/paired.hpp); shared
// by the kernel and the code that launches it.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr std::uint32_t kPairedThreads = 256;
inline constexpr std::uint32_t kPairedMoves = 8;
inline constexpr std::uint32_t kPairedSlots = 2;

// Words of one side of a pair, in its device's memory.
struct PairedWords {
  std::uint32_t ready;  // free slots at the sender, full slots at the receiver: its stream waits until there is one
  std::uint32_t moved;  // messages that this side has moved
};
// `ready` is at least this once the pair is released: nothing moves any more, and nothing waits.
inline constexpr std::uint32_t kPairedReleased = std::uint32_t{1} << 29;

struct PairedMove {
  std::uint64_t from, to;
  std::uint64_t from_step, to_step;  // bytes from one slot to the next; 0: not slots
  std::uint64_t bytes;
  std::uint64_t own, other;  // PairedWords of this side and of the other
};
struct PairedMoves {
  PairedMove each[kPairedMoves];
};

}  // namespace hr::kernels
