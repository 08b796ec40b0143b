// Local buffers of one-sided operations: forbidden uses before the operation is complete here (MPI 5.0 section 12.3).
// Internal to check/. Threads: library lock.
#pragma once

#include <vector>

#include "check/operations.hpp"

namespace hr::check {

// Returns the buffers of a call of a one-sided operation; empty for all others, and if the operation does nothing.
std::vector<Buffer> local_buffers_of(const Call& call);

}  // namespace hr::check
