// What two cores do for each other without MPI, as a good library would have them do it. Times in microseconds, the
// mean of `rounds`; the calling thread is bound to a core, `other_core` is another one.
#pragma once

#include <cstddef>

namespace bench {

// A message one way: copied into shared memory in pieces of 3 KiB, each told by a flag, fetched while the next one is
// written, and copied out. Messages go through `room` bytes of that memory, one place after the other, each way: a line
// that the reader's nearest cache still has takes longer to come back to the writer than one that has left it.
double in_pieces_us(std::size_t bytes, std::size_t room, int other_core, unsigned rounds);

// The same copied in as a whole, past the writer's caches, before the flag: the reader has it from memory. Sooner where
// the two cores share no cache, on AMD processors. Elsewhere than on x86-64 copied in the usual way.
double past_caches_us(std::size_t bytes, std::size_t room, int other_core, unsigned rounds);

// An allgather of two processes: each copies its own block of `bytes` and reads the other's by process_vm_readv, and
// waits until the other one has read. Without `own` the own block is not copied. 0: the system does not let us read.
double gather_by_reading_us(std::size_t bytes, bool own, int other_core, unsigned rounds);

// A broadcast to one other process, after a barrier, as the benchmark `collective` times it: the longer of the two
// processes' times. Through memory: copied in, wherever no line is in the other's nearest cache, a flag, copied out;
// by reading: a flag, process_vm_readv, a flag that the root waits for. 0: the system does not let us read.
enum class Broadcast { kThroughMemory, kByReading };
double broadcast_us(std::size_t bytes, Broadcast how, int other_core, unsigned rounds);

}  // namespace bench
