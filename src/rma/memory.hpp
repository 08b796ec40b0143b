// Memory of windows: one shared memory file for the processes of a window on one host. It contains the control words of
// each process and, in windows whose memory MPI allocates, its data. Internal to rma/.
//
// The first process on each host creates the file, all processes on the host map it, and then its name is removed. Each
// process allocates the pages of its own data, so that they are near the core of their owner, and a full /dev/shm is an
// error instead of a bus error. If there is no space for the data, only the control words are shared. If there is none
// for the control words either, nothing is shared, and operations use messages. All members make the same choice.
// Owner: the window. Threads: library lock.
#pragma once

#include <vector>

#include "comm/agree.hpp"
#include "rma/window.hpp"

namespace hr::rma {

// Facts that each process publishes when a window is created.
struct Facts {
  std::uint64_t address = 0;
  Count bytes = 0;
  Count unit = 1;
  std::uint64_t alignment = 0;  // alignment of allocated memory
  std::uint32_t apart = 0;      // kShared: parts need not be contiguous with each other (alloc_shared_noncontig)
  std::uint32_t device = 0;     // the memory is on a device
  std::uint32_t readable = 0;   // others may read and write the memory with system calls
  std::uint32_t network = 0;    // others may read and write the memory over the network
};

// Sets the control words of the members on this host and, in allocated windows, their memory. *shared: true if members
// on one host have their data in shared memory; all members get the same value. A process that is alone on its host has
// no memory yet. Collective. Errors: those of messages.
Status share_memory(Window& window, const std::vector<Facts>& facts, bool* shared);
// True for a shared window whose parts are contiguous with each other, because no process asked for anything else.
bool is_contiguous(const Window& window, const std::vector<Facts>& facts);
// Allocates private memory of this process. Errors: MPI_ERR_NO_MEM.
Status allocate_private(Window& window, std::size_t bytes, std::size_t alignment);

// Returns the members for a collective exchange about the window's memory; each exchange has its own tag.
[[nodiscard]] comm::Members exchange_members(const Window& window, int tag);

}  // namespace hr::rma
