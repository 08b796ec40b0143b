// Queries the present tables of OpenACC and OpenMP: which host memory has a copy on a device, as reported by their
// run-time libraries.
//
// Uses the functions of the standards (acc_deviceptr, omp_target_is_present, ...). Each query looks them up among
// all libraries that the program has loaded: those of any compiler are suitable, and none is required. A library that
// has not been used yet may start its device when it is queried; so it is queried only once that device has a context,
// and only about a model that the program uses. For checks, as a query takes microseconds. Threads: library lock;
// OpenACC's current device is the calling thread's.
#pragma once

#include <cstddef>

namespace hr::mem {

struct DeviceCopy {
  int device = -1;  // number of the device in the run-time library
  const void* address =
      nullptr;  // address of the copy of the first byte; null if the library only reports that a copy exists
};

// True if all of [host, host + bytes) has a copy on a device. Memory that host and device share does not count.
[[nodiscard]] bool find_device_copy(const void* host, std::size_t bytes, DeviceCopy* copy);

// True if an OpenACC queue (`async`) of the calling thread's device has work that is not done.
[[nodiscard]] bool openacc_queue_is_busy();

}  // namespace hr::mem
