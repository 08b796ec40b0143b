// matched_look_arguments.hpp: arguments of the kernel that polls for matched messages; shared by the kernel and the
// code that launches it.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr std::uint32_t kMatchedLookThreads = 32;
inline constexpr std::uint32_t kMatchedLookWords = 16;
inline constexpr std::uint64_t kMatchedLookNanoseconds = 20000;

// Number and addresses of the 32-bit words to poll.
struct MatchedLook {
  std::uint64_t count;
  std::uint64_t words[kMatchedLookWords];
};

}  // namespace hr::kernels
