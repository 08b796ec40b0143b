// A message between two processes without MPI, with a GPU for each process or one for both. One process copies the
// message from or to the other's memory, or both copy it through pinned memory that they share. A process polls until
// its copy has completed, and then sets a flag in shared memory. This is the minimum time for a message between
// processes; a copy within one process takes less.
//
// Forks the processes, so it must be called before this process uses CUDA. Waits for them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/statistics.hpp"

namespace bench {

enum class Way { kGet, kPut, kPinned };

struct Exchange {
  std::size_t bytes = 0;
  Way way = Way::kGet;
  Statistics times;  // us, one way
};

// Returns one Exchange for each size and way, with half the times of `laps` ping-pongs. Empty if the two processes
// cannot reach each other's memory; *why: the reason.
std::vector<Exchange> measure_exchanges(const std::vector<std::size_t>& sizes, int laps, std::string* why);

}  // namespace bench
