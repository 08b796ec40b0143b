// The fake HIP runtime: declarations shared by its files. See README.md.
//
// Devices, memory, streams and processes are those of the fake CUDA driver (tests/fake_cuda), whose calls do the work;
// only HIP's differences are implemented here. Owner: process-wide state, never destroyed. Threads: each has its own
// last error and current device; the rest is guarded by `state().mutex` of the driver.
#pragma once

#include "../fake_cuda/state.hpp"
#include "../fake_cuda/stream.hpp"

namespace fake_hip {

using fake_cuda::Address;
using fake_cuda::Context;
using fake_cuda::Result;

inline constexpr Result kSuccess = fake_cuda::kSuccess, kInvalidValue = fake_cuda::kInvalidValue, kNoDevice = 100,
                        kInvalidHandle = fake_cuda::kInvalidHandle;

// Returns the version of ROCm whose behaviour is emulated, as 100 times the major version and the minor one:
// FAKE_HIP_ROCM, "5" to "7" or, for a later minor version, "7.12".
int rocm_version();
inline int rocm() { return rocm_version() / 100; }
// Ends the process with a message, where the runtime would crash or damage memory.
[[noreturn]] void crash(const char* call, const char* why);

// Counts the call (FAKE_CUDA_COUNTS), records the thread's last error, and returns the result; every function returns
// through this. Before ROCm 7, a success clears the last error.
Result done(Result result, const char* call = __builtin_FUNCTION());

// Starts the driver on the first call, and makes device 0 current in a thread that has chosen none.
Result enter();
// Makes a device current in this thread.
Result choose(int device);
// Returns the device that is current in this thread, without starting it.
int current_device();
// Returns the context of a device; null if there is no such device.
Context* context_of(int device);

// Finds the driver's handle of a stream. In ROCm 5, the only handle of the legacy default stream is null.
Result native_stream(void* stream, void** native);

// False with FAKE_HIP_XNACK=0: the pages of managed memory stay on the host.
bool managed_memory_migrates();

// True for memory from hipExtMallocWithFlags(hipMallocSignalMemory), the only memory on which streams may wait.
bool is_signal(Address address);

}  // namespace fake_hip

#define FAKE_HIP extern "C" __attribute__((visibility("default"))) int
