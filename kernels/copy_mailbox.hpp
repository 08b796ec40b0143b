// copy_mailbox.hpp: what a process and its resident copy kernel (resident_copy.cu) have in common: a page of pinned
// host memory in which entries (copies to make) go one way and answers the other.
//
// Entries are numbered. The slot of an entry holds words that each carry the low 16 bits of its number on top, so that
// a reader who finds the number in all of them has the whole entry: no word more to read for that, and no order between
// the words to keep. Numbers of entries and of launches wrap around.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr unsigned kMailboxEntries = 8;
inline constexpr unsigned kResidentBlocks = 16;
inline constexpr unsigned kResidentThreads = 512;
inline constexpr unsigned kResidentUnroll = 4;  // elements that a thread has in flight at a time

// Its words: two addresses, and a number of bytes; 0: exit.
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
  // Written by the device, by each block for itself:
  alignas(64) std::uint32_t running[kResidentBlocks];  // the launch that it belongs to
  alignas(64) std::uint32_t done[kResidentBlocks];     // the last entry that it has done
  alignas(64) std::uint32_t exited[kResidentBlocks];   // the last launch that has ended: what is not done will not be
};

// In device memory: the entries once more, from the first block to the others, which so need not ask the host.
struct CopyRelay {
  CopyEntry entries[kMailboxEntries];
};

}  // namespace hr::kernels
