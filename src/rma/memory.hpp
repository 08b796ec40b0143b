// Memory of windows: one file of shared memory for the processes of a window on one host, in which each has its control
// words and, in windows whose memory MPI allocates, its data. Internal to rma/.
//
// The first process of each host makes the file, all of its host map it, and then its name is removed; each process
// requests the memory behind its own data, so that pages are where their owner runs and a full /dev/shm is an error and
// not a bus error. Without room for the data, only the control words are shared; without room for those, nothing is,
// and everything goes by messages. Members agree on that. Owner: the window. Threads: library lock.
#pragma once

#include <vector>

#include "comm/agree.hpp"
#include "rma/window.hpp"

namespace hr::rma {

// Facts that each process publishes when a window is made.
struct Facts {
  std::uint64_t address = 0;
  Count bytes = 0;
  Count unit = 1;
  std::uint64_t alignment = 0;  // of allocated memory
  std::uint32_t apart = 0;      // kShared: parts need not lie one behind the other (alloc_shared_noncontig)
  std::uint32_t device = 0;     // it is on a device
  std::uint32_t readable = 0;   // its memory may be read and written by the system for others
  std::uint32_t unused = 0;
};

// Gives members of this host their control words, and in allocated windows their memory. *shared, the same on all:
// those of one host have their data in shared memory; a process that is alone on its host has none yet. Collective.
// Errors: those of messages.
Status share_memory(Window& window, const std::vector<Facts>& facts, bool* shared);
// Allocates memory of this process alone. MPI_ERR_NO_MEM.
Status allocate_private(Window& window, std::size_t bytes, std::size_t alignment);

// Returns the members for collective exchanges about the window's memory, one tag each.
[[nodiscard]] comm::Members exchange_members(const Window& window, int tag);

}  // namespace hr::rma
