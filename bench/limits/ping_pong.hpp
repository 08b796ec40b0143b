// Messages between two cores without MPI, as a good library would send them. Times are in microseconds, the mean over
// `rounds` rounds. The calling thread is bound to a core; `other_core` is another one.
#pragma once

#include <cstddef>

namespace bench {

// Route of a message through shared memory: in pieces of `piece` bytes, with successive messages cycling through `room`
// bytes in each direction. A cache line that is still in the reader's nearest cache takes longer to return to the
// writer than an evicted one.
struct Through {
  std::size_t piece;
  std::size_t room;
  bool both = false;  // true if both directions use the same memory: each process writes where it has just read
};

// Times a one-way message: it is copied into shared memory in pieces, each announced with a flag, and copied out.
// Pieces of 8 KiB or more are copied out separately; shorter ones all at once at the end, so the reader only fetches
// each piece while the next is written.
double in_pieces_us(std::size_t bytes, Through through, int other_core, unsigned rounds);

// Like in_pieces_us(), but with non-temporal stores, so that the reader fetches the data from memory; each piece is
// copied out when it arrives. Faster on AMD processors if the two cores share no cache. On processors other than
// x86-64, ordinary copies are used.
double nontemporal_us(std::size_t bytes, Through through, int other_core, unsigned rounds);

// Times an allgather of two processes: each copies its own block of `bytes`, reads the other's with process_vm_readv,
// and waits until the other has read. Without `own`, a process does not copy its own block. 0: the system refuses the
// read.
double gather_by_reading_us(std::size_t bytes, bool own, int other_core, unsigned rounds);

// Times a broadcast to one other process, after a barrier, as the benchmark `collective` does: the longer of the two
// processes' times. Through memory: a copy into lines that are not in the other's nearest cache, a flag, and a copy
// out. With direct reads: a flag, process_vm_readv, and a flag that the root waits for. 0: the system refuses the read.
enum class Broadcast { kThroughMemory, kByReading };
double broadcast_us(std::size_t bytes, Broadcast how, int other_core, unsigned rounds);

}  // namespace bench
