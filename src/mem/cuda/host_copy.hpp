// Copies between device memory and host memory of the program, on the stream of a context.
//
// The driver refuses a copy whose host side it knows in part: the program has registered some of it
// (cuMemHostRegister), or several pieces after one another. Such a copy goes through pinned memory of ours, piece by
// piece. Threads: library lock; the context must be current.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "mem/cuda/context.hpp"

namespace hr::mem::cuda {

// Both start a copy, after the work that the stream has been given; a copy that had to go through memory of ours is
// done on return.
Status start_copy_from_host(Context& context, DeviceAddress to, const void* from, std::size_t bytes);
Status start_copy_to_host(Context& context, void* to, DeviceAddress from, std::size_t bytes);

}  // namespace hr::mem::cuda
