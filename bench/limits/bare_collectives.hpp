// Collective operations of several processes without MPI, each as plainly as it can be done, and as the benchmark
// `collective` times them: the longest of the processes' mean times. Where processes share cores, one that waits gives
// its core away.
//
// Owner: the caller. It waits for the processes that it makes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bench {

struct BareGroup;

// A way to do an operation.
struct BareAlgorithm {
  const char* operation;
  const char* label;                                           // the operation's name first
  std::size_t least = 0, most = 0;                             // sizes that it is for; a barrier has none
  void (*round)(const BareGroup& group, unsigned long round);  // one process's part
  bool apart = false;   // timed one by one, with a barrier between; process 0 is the root
  bool blocks = false;  // of one process each
  bool adds = false;
};
std::span<const BareAlgorithm> bare_algorithms();

// As in `collective`: the size of the larger of a process's two buffers, of whole floats and whole blocks.
std::size_t bare_collective_bytes(const BareAlgorithm& way, std::size_t asked, int processes);

// Microseconds of one round of `bare_collective_bytes`. 0: the system does not let us; less: a process has received
// what nobody sent. One round after the other goes through other shared memory, `room` bytes of it as far as they hold
// more than two rounds (limits/ping_pong.hpp).
double bare_collective_us(const BareAlgorithm& way, std::size_t bytes, int processes, const std::vector<int>& cores,
                          std::size_t room, unsigned rounds);

}  // namespace bench
