// Local buffers of one-sided operations: detects forbidden uses before the operation is complete at the origin (MPI 5.0
// section 12.3). Internal to check/. Threads: library lock.
#pragma once

#include <vector>

#include "check/operations.hpp"

namespace hr::check {

// Returns the local buffers of a one-sided operation's call; empty for other calls, and if the operation does nothing.
std::vector<Buffer> local_buffers_of(const Call& call);

}  // namespace hr::check
