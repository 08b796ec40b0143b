// What two processes with a GPU each (or with one of both) do without MPI: one copies a message out of the other's
// memory or into it, or both copy it by way of pinned memory that they share; sees by polling that the copy has ended,
// and says so in shared memory. The limit of a message between processes, which is later than a copy within one.
//
// The processes are forked: call it before this one has touched CUDA. It waits for them.
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

// Half the time of a ping-pong for each size. Empty where two processes cannot reach each other's memory; *why says so.
std::vector<Exchange> measure_exchanges(const std::vector<std::size_t>& sizes, int laps, std::string* why);

}  // namespace bench
