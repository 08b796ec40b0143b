// What two cores do for each other without MPI, as a good library would have them do it. Times in microseconds, the
// mean of `rounds`; the calling thread is bound to a core, `other_core` is another one.
#pragma once

#include <cstddef>

namespace bench {

// How a message goes through shared memory: in pieces of so many bytes, and from message to message through so much
// memory, one place after the other, each way. A line that the reader's nearest cache still has takes longer to come
// back to the writer than one that has left it.
struct Through {
  std::size_t piece;
  std::size_t room;
  bool both = false;  // one memory for both ways: each writes to where it has just read
};

// A message one way: copied into shared memory in pieces, each told by a flag, and copied out: where pieces have 8 KiB
// or more each as it comes, where they are shorter as a whole, since each is only fetched while the next is written.
double in_pieces_us(std::size_t bytes, Through through, int other_core, unsigned rounds);

// The same copied in by non-temporal stores, so that the reader has it from memory; each piece copied out as it
// comes. Sooner where the two cores share no cache, on AMD processors. Elsewhere than on x86-64 copied in the usual
// way.
double nontemporal_us(std::size_t bytes, Through through, int other_core, unsigned rounds);

// An allgather of two processes: each copies its own block of `bytes` and reads the other's by process_vm_readv, and
// waits until the other one has read. Without `own` the own block is not copied. 0: the system does not let us read.
double gather_by_reading_us(std::size_t bytes, bool own, int other_core, unsigned rounds);

// A broadcast to one other process, after a barrier, as the benchmark `collective` times it: the longer of the two
// processes' times. Through memory: copied in, wherever no line is in the other's nearest cache, a flag, copied out;
// by reading: a flag, process_vm_readv, a flag that the root waits for. 0: the system does not let us read.
enum class Broadcast { kThroughMemory, kByReading };
double broadcast_us(std::size_t bytes, Broadcast how, int other_core, unsigned rounds);

}  // namespace bench
