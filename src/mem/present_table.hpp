// The present tables of OpenACC and OpenMP: which host memory has a copy on a device, according to their run-time
// libraries.
//
// The functions are the standards' own (acc_deviceptr, omp_target_is_present, ...). Each query looks them up among all
// libraries that the program has loaded: any compiler's will do, and none is needed. A library that has not been
// used yet may start its device when it is asked; so it is not asked before that device has a context, nor about a
// model that the program does not use.
// For checks: a question takes microseconds. Threads: library lock; OpenACC's current device is the calling thread's.
#pragma once

#include <cstddef>

namespace hr::mem {

struct DeviceCopy {
  int device = -1;                // as the run-time library numbers devices
  const void* address = nullptr;  // of the copy of the first byte; null if the library tells only that there is one
};

// True if all of [host, host + bytes) has a copy. Memory that host and device share is no copy.
[[nodiscard]] bool find_device_copy(const void* host, std::size_t bytes, DeviceCopy* copy);

// True if an OpenACC queue (`async`) of the calling thread's device has work that is not done.
[[nodiscard]] bool openacc_queue_is_busy();

}  // namespace hr::mem
