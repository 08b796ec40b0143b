// Messages between two cores without MPI, as a good library would send them. Times in microseconds, the mean of
// `rounds`; the calling thread is bound to a core, `other_core` is another one.
#pragma once

#include <cstddef>

namespace bench {

// Route of a message through shared memory: in pieces of so many bytes, with successive messages cycling through so
// much memory each way. A line that is still in the reader's nearest cache takes longer to come back to the writer than
// one that has left it.
struct Through {
  std::size_t piece;
  std::size_t room;
  bool both = false;  // one memory for both ways: each process writes where it has just read
};

// Times a message one way: copied into shared memory in pieces, each announced by a flag, and copied out: pieces of 8
// KiB or more one by one, shorter ones as a whole, since the reader only fetches each while the next is written.
double in_pieces_us(std::size_t bytes, Through through, int other_core, unsigned rounds);

// Does the same with non-temporal stores, so that the reader gets the data from memory; copies out each piece as it
// comes. Faster where the two cores share no cache, on AMD processors. Uses ordinary copies elsewhere than on x86-64.
double nontemporal_us(std::size_t bytes, Through through, int other_core, unsigned rounds);

// Times an allgather of two processes: each copies its own block of `bytes` and reads the other's by process_vm_readv,
// and waits until the other has read. Without `own` the own block is not copied. 0: the system refuses the read.
double gather_by_reading_us(std::size_t bytes, bool own, int other_core, unsigned rounds);

// Times a broadcast to one other process, after a barrier, as the benchmark `collective` does: the longer of the two
// processes' times. Through memory: copied in, to lines that are in no nearest cache of the other, a flag, copied out;
// by reading: a flag, process_vm_readv, a flag that the root waits for. 0: the system refuses the read.
enum class Broadcast { kThroughMemory, kByReading };
double broadcast_us(std::size_t bytes, Broadcast how, int other_core, unsigned rounds);

}  // namespace bench
