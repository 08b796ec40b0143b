// Collective operations of several processes without MPI, each done as plainly as possible and timed like the benchmark
// `collective`: the longest of the processes' mean times. Where processes share cores, a waiting process yields.
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
  std::size_t least = 0, most = 0;                             // supported sizes; a barrier has none
  void (*round)(const BareGroup& group, unsigned long round);  // one process's part
  bool apart = false;   // timed one by one, with a barrier between; process 0 is the root
  bool blocks = false;  // one for each process
  bool adds = false;
};
std::span<const BareAlgorithm> bare_algorithms();

// Returns the size of the larger of a process's two buffers, in whole floats and whole blocks, as in `collective`.
std::size_t bare_collective_bytes(const BareAlgorithm& way, std::size_t asked, int processes);

// Returns microseconds of one round of `bare_collective_bytes`. 0: the system refuses; less: a process received wrong
// data. Successive rounds use other shared memory, within `room` bytes or two rounds, whichever is more
// (limits/ping_pong.hpp).
double bare_collective_us(const BareAlgorithm& way, std::size_t bytes, int processes, const std::vector<int>& cores,
                          std::size_t room, unsigned rounds);

}  // namespace bench
