// attend_desk.hpp: what a process and its attendant (attend.cu) have in common: a page of pinned host memory over which
// orders go one way and answers the other.
//
// Orders are numbered. The slot of an order holds words that each carry the low 16 bits of its number on top, so that a
// reader who finds the number in all of them has the whole order: no word more to read for that, and no order between
// the words to keep. Numbers of orders and of visits (launches) go round.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr unsigned kAttendSlots = 8;
inline constexpr unsigned kAttendBlocks = 16;
inline constexpr unsigned kAttendThreads = 512;
inline constexpr unsigned kAttendUnroll = 4;  // elements that a thread has in flight at a time

// Its words: two addresses, and a number of bytes; 0: leave.
inline constexpr unsigned kAttendSource = 0;
inline constexpr unsigned kAttendTarget = 1;
inline constexpr unsigned kAttendBytes = 2;
inline constexpr unsigned kAttendOrderWords = 3;
struct alignas(32) AttendOrder {
  std::uint64_t words[kAttendOrderWords];
};

inline constexpr int kAttendNumberShift = 48;
inline constexpr std::uint64_t kAttendValueMask = (std::uint64_t{1} << kAttendNumberShift) - 1;

struct AttendDesk {
  AttendOrder orders[kAttendSlots];  // number n in slot n % kAttendSlots; written by the host
  // Written by the device, by each block for itself:
  alignas(64) std::uint32_t here[kAttendBlocks];  // the visit that it is on
  alignas(64) std::uint32_t done[kAttendBlocks];  // the last order that it has carried out
  alignas(64) std::uint32_t left[kAttendBlocks];  // the last visit that it has ended: what is not done will not be
};

// In device memory: the orders once more, from the first block to the others, which so need not ask the host.
struct AttendRelay {
  AttendOrder orders[kAttendSlots];
};

}  // namespace hr::kernels
