// Host memory that is not coherent, on AMD's devices: a device works on its caches. A store of the device appears in
// the memory with the next release to system scope (an event with that flag, or a wait for a stream or the device), and
// a store of the host appears on the device at the start of its next operation.
//
// Owner: process-wide, until remove(). Threads: any; guarded by its own mutex. Kernels access the caches without it.
#pragma once

#include "state.hpp"

namespace fake_cuda::non_coherent {

void add(Address address, std::size_t bytes);
void remove(Address address);  // does nothing for other memory
// Returns the address through which an operation of a device that now begins accesses memory: for other memory, that of
// alias().
void* device_view(Address address);
// Makes all stores of devices visible. Returns kSuccess, for use as work of a stream.
Result release_to_system();

}  // namespace fake_cuda::non_coherent
