// copy_mailbox.hpp: memory shared by a process and its resident copy kernel (resident_copy.cu): a page of pinned host
// memory in which entries (copies to make) go one way and answers the other.
//
// Entries are numbered. Every word in the slot of an entry carries the low 16 bits of its number on top, so that a
// reader that finds the number in all of them has the whole entry: it reads no further word, and the words need no
// order. Numbers of entries and of launches wrap around.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr unsigned kMailboxEntries = 8;
inline constexpr unsigned kResidentBlocks = 16;
inline constexpr unsigned kResidentThreads = 512;
inline constexpr unsigned kResidentUnroll = 4;  // elements that a thread has in flight at a time

// Words of an entry: two addresses, and a number of bytes; 0: exit.
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
  CopyEntry entries[kMailboxEntries];  // number n in slot n % kMailboxEntries; written by the host
  // Written by the device, each block for itself:
  alignas(64) std::uint32_t running[kResidentBlocks];  // the launch that it belongs to
  alignas(64) std::uint32_t done[kResidentBlocks];     // the last entry that it has done
  alignas(64) std::uint32_t exited[kResidentBlocks];   // last launch that has ended: its entries not done never will be
};

// In device memory: copies of the entries, passed from the first block to the others, which need not read host memory.
struct CopyRelay {
  CopyEntry entries[kMailboxEntries];
};

}  // namespace hr::kernels
