// paired_arguments.hpp: arguments of the kernel that moves messages of matched pairs (src/enqueue/paired.hpp); shared
// by the kernel and the code that launches it.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr std::uint32_t kPairedThreads = 256;
inline constexpr std::uint32_t kPairedMoves = 8;
inline constexpr std::uint32_t kPairedSlots = 2;
// Maximum number of bytes per block, unless the message would need more blocks than are worth launching.
inline constexpr std::uint64_t kPairedBlockBytes = 16384;
inline constexpr std::uint64_t kPairedMostBlocks = 64;
// Maximum length of messages for which a kernel waits; the stream waits for longer ones.
inline constexpr std::uint64_t kPairedWaitedBytes = 65536;
// Maximum length of messages sent in lines (matched_copy.hpp).
inline constexpr std::uint64_t kPairedLineBytes = 8192;
inline constexpr std::uint32_t kPairedLineSlots = 4;
// Number of line slots that the receiver returns at a time. The start of a send may wait at most for the receive two
// before its own (src/enqueue/paired.hpp), so the other slots must be enough for its own message and the one before.
inline constexpr std::uint32_t kPairedLineReturn = 2;

// The method by which a kernel moves a message.
enum PairedWay : std::uint64_t {
  kPairedReady,      // the stream has waited until a slot is ready
  kPairedWait,       // the kernel waits until a slot is ready
  kPairedSendLines,  // the kernel waits for a free slot
  kPairedTakeLines   // the kernel waits for the lines
};

// Words of one side of a pair, in its device's memory.
struct PairedWords {
  std::uint32_t ready;     // free slots (sender), full slots without lines (receiver); a stream or kernel waits for one
  std::uint32_t moved;     // messages that this side has moved
  std::uint32_t finished;  // blocks that have copied their part of the current message
};
// `ready` is at least this value once the pair is released: no data moves, and no kernel waits.
inline constexpr std::uint32_t kPairedReleased = std::uint32_t{1} << 29;

struct PairedMove {
  std::uint64_t from, to;
  std::uint64_t from_step, to_step;  // bytes from one slot to the next; 0: not slots
  std::uint64_t bytes;
  std::uint64_t blocks;      // blocks that share the copy; one for lines
  std::uint64_t way;         // PairedWay
  std::uint64_t own, other;  // PairedWords of this side and of the other
};
// A launch has `width` blocks for each move, at least as many as any move needs.
struct PairedMoves {
  std::uint64_t width;
  PairedMove each[kPairedMoves];
};

}  // namespace hr::kernels
