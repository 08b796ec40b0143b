// Collective operations of several processes without MPI, each implemented as simply as possible and timed as in the
// benchmark `collective`: the longest of the processes' mean times. If processes share cores, a waiting process yields.
//
// Owner: the caller, which waits for the processes that it forks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bench {

struct BareGroup;

// An algorithm for an operation.
struct BareAlgorithm {
  const char* operation;
  const char* label;                                           // begins with the operation's name
  std::size_t least = 0, most = 0;                             // supported sizes; a barrier has none
  void (*round)(const BareGroup& group, unsigned long round);  // does one process's part
  bool apart = false;   // calls are timed separately, with barriers between them; process 0 is the root
  bool blocks = false;  // true if the buffer has one block per process
  bool adds = false;
};
std::span<const BareAlgorithm> bare_algorithms();

// Returns the size of the larger of a process's two buffers, in whole floats and whole blocks, as in `collective`.
std::size_t bare_collective_bytes(const BareAlgorithm& way, std::size_t asked, int processes);

// Returns the microseconds per round with buffers of `bytes` bytes (bare_collective_bytes()); 0 if the system refuses
// the memory, a process or a read; less than 0 if a process received wrong data. Successive rounds use different shared
// memory, within the larger of `room` bytes and two rounds (limits/ping_pong.hpp).
double bare_collective_us(const BareAlgorithm& way, std::size_t bytes, int processes, const std::vector<int>& cores,
                          std::size_t room, unsigned rounds);

}  // namespace bench
