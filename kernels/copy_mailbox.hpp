// copy_mailbox.hpp: memory shared by a process and its resident copy kernel (resident_copy.cu): a page of pinned host
// memory, with entries (copies to perform) from the host and replies from the device.
//
// Entries are numbered. Every word of an entry contains the low 16 bits of its number in its upper bits, so that a
// reader that finds the number in all words has read the complete entry: no separate flag is needed, and the words need
// not be written in order. Numbers of entries and of launches wrap around.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr unsigned kMailboxEntries = 8;
inline constexpr unsigned kResidentBlocks = 16;
inline constexpr unsigned kResidentThreads = 512;
inline constexpr unsigned kResidentUnroll = 4;  // elements that a thread has in flight

// Words of an entry: two addresses, and a number of bytes; 0 bytes make the kernel exit.
inline constexpr unsigned kEntrySource = 0;
inline constexpr unsigned kEntryTarget = 1;
inline constexpr unsigned kEntryBytes = 2;
inline constexpr unsigned kEntryWords = 3;
struct alignas(32) CopyEntry {
  std::uint64_t words[kEntryWords];
};

inline constexpr int kEntryNumberShift = 48;
inline constexpr std::uint64_t kEntryValueMask = (std::uint64_t{1} << kEntryNumberShift) - 1;

struct CopyMailbox {
  CopyEntry entries[kMailboxEntries];  // entry n is in slot n % kMailboxEntries; written by the host
  // Written by the device, element i by block i:
  alignas(64) std::uint32_t running[kResidentBlocks];  // number of its launch
  alignas(64) std::uint32_t done[kResidentBlocks];     // number of the last entry that the block has completed
  // Number of the last launch that has ended; incomplete entries of that launch will never be completed.
  alignas(64) std::uint32_t exited[kResidentBlocks];
};

// Copies of the entries in device memory. The first block writes them, so that the other blocks need not read host
// memory.
struct CopyRelay {
  CopyEntry entries[kMailboxEntries];
};

}  // namespace hr::kernels
