// Message between two processes with a GPU each (or sharing one) without MPI: one copies it out of the other's memory
// or into it, or both copy it through pinned memory that they share; polls until the copy has ended, and says so in
// shared memory. The limit of a message between processes, which is higher than for a copy within one.
//
// Forks the processes: call it before this one has touched CUDA. Waits for them.
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

// Returns half the time of a ping-pong for each size. Empty if two processes cannot reach each other's memory; *why
// says so.
std::vector<Exchange> measure_exchanges(const std::vector<std::size_t>& sizes, int laps, std::string* why);

}  // namespace bench
