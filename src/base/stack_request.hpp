// Agreement between the launcher and a rank on reporting the rank's call stacks.
//
// The launcher queues kStackSignal to a thread. The signal's value identifies a pipe of the launcher by its descriptor
// and inode; the rank opens it (/proc/<launcher>/fd) and writes one StackAnswer per thread.
#pragma once

#include <climits>
#include <cstdint>

namespace hr {

// A real-time signal without other known uses. As its default action ends a process, it is queued only to processes
// that catch it.
inline constexpr int kStackSignal = 61;

// An answer, short enough for one atomic write to a pipe.
struct StackAnswer {
  static constexpr std::uint32_t kMagic = 0x6b617473;
  static constexpr int kMostFrames = 48;
  std::uint32_t magic = kMagic;
  std::int32_t thread = 0;
  std::uint64_t count = 0;
  std::uint64_t addresses[kMostFrames] = {};  // current instruction, then return addresses
};
static_assert(sizeof(StackAnswer) <= _POSIX_PIPE_BUF);

// Returns the signal's value.
constexpr std::uint64_t stack_request(int descriptor, std::uint64_t inode) noexcept {
  return static_cast<std::uint64_t>(descriptor) << 32 | (inode & 0xffffffffU);
}
constexpr int requested_descriptor(std::uint64_t value) noexcept { return static_cast<int>(value >> 32); }
constexpr bool is_requested(std::uint64_t value, std::uint64_t inode) noexcept {
  return (value & 0xffffffffU) == (inode & 0xffffffffU);
}

}  // namespace hr
