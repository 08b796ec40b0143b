// Runtime: the functions of AMD's HIP runtime (libamdhip64) that the library uses, in ROCm 5.2 and later.
//
// Names, signatures and numbers are those of hip/hip_runtime_api.h of ROCm 5.2, 6 and 7, declared here with the types
// of the table (mem/device.hpp), which are passed in the same way. Handles of devices, streams and events are the
// runtime's.
//
// Owner: one process-wide object, filled by open_runtime(), never unloaded. Threads: constant afterwards.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::hip {

using device::DeviceAddress;
using device::EventHandle;
using device::FunctionHandle;
using device::IpcHandle;
using device::ModuleHandle;
using device::Result;
using device::StreamHandle;

// hipPointerAttribute_t; ROCm 5 calls the first member memoryType and gives it other values (pointer.cpp).
struct PointerAttributes {
  int type = 0;
  int device = 0;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  int is_managed = 0;
  unsigned flags = 0;
};

// hipMemLocation
inline constexpr int kPlaceDevice = 1;
struct Place {
  int type = kPlaceDevice;
  int device = 0;
};
// hipMemAllocationProp
struct ChunkProperties {
  int type = 0;
  int handle_types = 0;
  Place place;
  void* unused = nullptr;
  unsigned char flags[8] = {};
};

// The result codes and flags of HIP that the table lacks.
inline constexpr Result kInvalidDevicePointer = 17;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kNotFound = 500;
inline constexpr int kCopyByAddresses = 4;                     // hipMemcpyDefault
inline constexpr unsigned kHostCoherent = 0x40000000;          // hipHostMallocCoherent
inline constexpr unsigned kEventReleaseToSystem = 0x80000000;  // hipEventReleaseToSystem
inline constexpr unsigned kSignalMemory = 2;                   // hipMallocSignalMemory
inline constexpr std::size_t kSignalBytes = 8;                 // the only size of such memory

// X(symbol, parameters): all functions return a result, except those in the second list.
#define HR_HIP_FUNCTIONS(X)                                                                                       \
  X(hipInit, (unsigned flags))                                                                                    \
  X(hipRuntimeGetVersion, (int*))                                                                                 \
  X(hipGetLastError, ())                                                                                          \
  X(hipPeekAtLastError, ())                                                                                       \
  X(hipGetDeviceCount, (int*))                                                                                    \
  X(hipGetDevice, (int*))                                                                                         \
  X(hipSetDevice, (int))                                                                                          \
  X(hipDeviceGetAttribute, (int*, int attribute, int device))                                                     \
  X(hipDeviceGetPCIBusId, (char*, int bytes, int device))                                                         \
  X(hipDevicePrimaryCtxGetState, (int device, unsigned* flags, int* active))                                      \
  X(hipPointerGetAttributes, (PointerAttributes*, DeviceAddress))                                                 \
  X(hipPointerGetAttribute, (void* value, int attribute, DeviceAddress))                                          \
  X(hipMemGetAddressRange, (DeviceAddress*, std::size_t*, DeviceAddress))                                         \
  X(hipMalloc, (DeviceAddress*, std::size_t))                                                                     \
  X(hipFree, (DeviceAddress))                                                                                     \
  X(hipMemcpyAsync, (DeviceAddress to, DeviceAddress from, std::size_t, int kind, StreamHandle))                  \
  X(hipMemcpy2DAsync, (DeviceAddress to, std::size_t to_pitch, DeviceAddress from, std::size_t from_pitch,        \
                       std::size_t width, std::size_t height, int kind, StreamHandle))                            \
  X(hipMemcpyPeerAsync,                                                                                           \
    (DeviceAddress to, int to_device, DeviceAddress from, int from_device, std::size_t, StreamHandle))            \
  X(hipStreamCreateWithPriority, (StreamHandle*, unsigned flags, int priority))                                   \
  X(hipStreamDestroy, (StreamHandle))                                                                             \
  X(hipStreamSynchronize, (StreamHandle))                                                                         \
  X(hipStreamWaitEvent, (StreamHandle, EventHandle, unsigned flags))                                              \
  X(hipStreamQuery, (StreamHandle))                                                                               \
  X(hipEventCreateWithFlags, (EventHandle*, unsigned flags))                                                      \
  X(hipEventDestroy, (EventHandle))                                                                               \
  X(hipEventRecord, (EventHandle, StreamHandle))                                                                  \
  X(hipEventQuery, (EventHandle))                                                                                 \
  X(hipHostMalloc, (void**, std::size_t, unsigned flags))                                                         \
  X(hipHostFree, (void*))                                                                                         \
  X(hipHostRegister, (void*, std::size_t, unsigned flags))                                                        \
  X(hipHostUnregister, (void*))                                                                                   \
  X(hipHostGetDevicePointer, (DeviceAddress*, void*, unsigned flags))                                             \
  X(hipIpcGetMemHandle, (IpcHandle*, DeviceAddress))                                                              \
  X(hipIpcOpenMemHandle, (DeviceAddress*, IpcHandle, unsigned flags))                                             \
  X(hipIpcCloseMemHandle, (DeviceAddress))                                                                        \
  X(hipModuleLoadData, (ModuleHandle*, const void* image))                                                        \
  X(hipModuleUnload, (ModuleHandle))                                                                              \
  X(hipModuleGetFunction, (FunctionHandle*, ModuleHandle, const char* name))                                      \
  X(hipModuleLaunchKernel, (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                            StreamHandle, void**, void**))
#define HR_HIP_TEXT_FUNCTIONS(X) \
  X(hipGetErrorName, (Result))   \
  X(hipGetErrorString, (Result))
// Functions that some runtimes lack: the pointer is then null.
#define HR_HIP_OPTIONAL_FUNCTIONS(X)                                                                      \
  X(hipStreamIsCapturing, (StreamHandle, int* status))                                                    \
  X(hipThreadExchangeStreamCaptureMode, (int* mode))                                                      \
  X(hipMemGetAccess, (unsigned long long*, const Place*, DeviceAddress))                                  \
  X(hipMemRetainAllocationHandle, (device::ChunkHandle*, DeviceAddress))                                  \
  X(hipMemGetAllocationPropertiesFromHandle, (ChunkProperties*, device::ChunkHandle))                     \
  X(hipMemExportToShareableHandle, (void*, device::ChunkHandle, int type, unsigned long long))            \
  X(hipMemImportFromShareableHandle, (device::ChunkHandle*, void*, int type))                             \
  X(hipMemRelease, (device::ChunkHandle))                                                                 \
  X(hipMemAddressReserve,                                                                                 \
    (DeviceAddress*, std::size_t, std::size_t alignment, DeviceAddress wanted, unsigned long long))       \
  X(hipMemAddressFree, (DeviceAddress, std::size_t))                                                      \
  X(hipMemMap, (DeviceAddress, std::size_t, std::size_t offset, device::ChunkHandle, unsigned long long)) \
  X(hipMemUnmap, (DeviceAddress, std::size_t))                                                            \
  X(hipMemSetAccess, (DeviceAddress, std::size_t, const device::MappingAccess*, std::size_t count))       \
  X(hipStreamWriteValue32, (StreamHandle, DeviceAddress, std::uint32_t, unsigned))                        \
  X(hipStreamWaitValue32, (StreamHandle, DeviceAddress, std::uint32_t, unsigned, std::uint32_t mask))     \
  X(hipExtMallocWithFlags, (DeviceAddress*, std::size_t, unsigned))                                       \
  X(hipStreamGetDevice, (StreamHandle, int* device))

struct Runtime {
#define HR_HIP_MEMBER(symbol, parameters) Result(*symbol) parameters = nullptr;
#define HR_HIP_TEXT_MEMBER(symbol, parameters) const char*(*symbol)parameters = nullptr;
  HR_HIP_FUNCTIONS(HR_HIP_MEMBER)
  HR_HIP_OPTIONAL_FUNCTIONS(HR_HIP_MEMBER)
  HR_HIP_TEXT_FUNCTIONS(HR_HIP_TEXT_MEMBER)
#undef HR_HIP_MEMBER
#undef HR_HIP_TEXT_MEMBER
  int version = 0;  // of ROCm: 100 times the major version, and the minor one
  int major = 0;
};

// Opens the runtime that the program has loaded, else the newest one found, and checks that it has the required
// functions and detects a device. False: the reason has been logged, and the runtime must not be used.
bool open_runtime();

[[nodiscard]] const Runtime& runtime() noexcept;

// QuietCalls: restores the thread's last error, which programs read with hipGetLastError() after their own calls.
// They would otherwise mistake an expected failure of the library's call (host memory, unfinished work) for one of
// their own. Since ROCm 7, an error stays until it is read, so an error of the program's own calls is left unchanged.
// In earlier versions, each call replaces it.
class QuietCalls {
 public:
  QuietCalls() noexcept : was_clean_(runtime().major < 7 || runtime().hipPeekAtLastError() == device::kSuccess) {}
  // Returns the result of the call.
  Result operator()(Result result) const noexcept {
    if (result != device::kSuccess && was_clean_) [[unlikely]]
      static_cast<void>(runtime().hipGetLastError());
    return result;
  }

 private:
  bool was_clean_;
};

}  // namespace hr::mem::hip
