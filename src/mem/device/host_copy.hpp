// Copies between device memory and host memory of the program, on a context's stream.
//
// The driver refuses a copy whose host side is only partly registered with it, or in several
// adjacent pieces. Such a copy goes through the library's pinned memory, one piece at a time. Threads: library lock;
// the context must be current.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

// Both enqueue a copy on the context's stream; a copy that has to go through the library's memory is complete on
// return.
Status start_copy_from_host(Context& context, DeviceAddress to, const void* from, std::size_t bytes);
Status start_copy_to_host(Context& context, void* to, DeviceAddress from, std::size_t bytes);

}  // namespace hr::mem::device
