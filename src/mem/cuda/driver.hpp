// Driver: the functions of the CUDA driver that we use, loaded at run time; our own declarations of its ABI.
//
// No CUDA header and no CUDA library is needed to build. The versioned symbol names fix each function's ABI.
// Owner: one process-wide table, filled at the first find_driver(), never unloaded (the program uses the same
// library). Threads: find_driver() runs under the library lock; the table is constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace hr::mem::cuda {

// --- the driver's types ---
using Result = int;
using DeviceAddress = unsigned long long;  // CUdeviceptr
using ContextHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using GraphHandle = void*;

// CUipcMemHandle: lets another process map an allocation.
struct IpcHandle {
  unsigned char bytes[64];
};

// The result codes that we distinguish.
inline constexpr Result kSuccess = 0;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kDeinitialized = 4;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kAlreadyMapped = 208;
inline constexpr Result kNotReady = 600;
inline constexpr Result kHostAlreadyRegistered = 712;
inline constexpr Result kPeerAccessAlreadyEnabled = 704;
inline constexpr Result kFirstCaptureError = 900;
inline constexpr Result kStreamCaptureImplicit = 906;
inline constexpr Result kLastCaptureError = 909;

inline constexpr int kAttributeContext = 1;
inline constexpr int kAttributeMemoryType = 2;
inline constexpr int kAttributeHostPointer = 4;
inline constexpr int kAttributeBufferId = 7;
inline constexpr int kAttributeIsManaged = 8;
inline constexpr int kAttributeDeviceOrdinal = 9;
inline constexpr int kAttributeRangeStart = 11;
inline constexpr int kAttributeRangeSize = 12;
inline constexpr int kAttributeMapped = 13;
inline constexpr int kAttributeHandleTypes = 14;
inline constexpr int kAttributeMappingSize = 18;
inline constexpr int kAttributeMappingBase = 19;

inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeUnified = 4;  // of a copy: derived from the address

inline constexpr int kDeviceMultiprocessorCount = 16;
inline constexpr int kDevicePciBus = 33;
inline constexpr int kDevicePciDevice = 34;
inline constexpr int kDevicePciDomain = 50;
inline constexpr int kDeviceFlushesRemoteWrites = 98;
inline constexpr int kDeviceMps = 133;  // from CUDA 12.4 on; older drivers return an error

inline constexpr unsigned kStreamDefault = 0;  // synchronises with the legacy default stream
inline constexpr unsigned kStreamNonBlocking = 1;
// Runs before the waiting blocks of the program's kernels; the driver clamps it to the device's range.
inline constexpr int kHighestPriority = -100;
// Conditions of a stream that waits for a word; the first is cyclic.
inline constexpr unsigned kWaitAtLeast = 0;
inline constexpr unsigned kWaitFlush = 1U << 30;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterDeviceMap = 2;
inline StreamHandle legacy_stream() noexcept { return reinterpret_cast<StreamHandle>(std::uintptr_t{1}); }

// CUDA_MEMCPY2D: `height` rows of `width` bytes.
struct PitchedCopy {
  std::size_t source_x = 0, source_y = 0;
  unsigned source_type = kMemoryTypeUnified;
  const void* source_host = nullptr;
  DeviceAddress source = 0;
  void* source_array = nullptr;
  std::size_t source_pitch = 0;
  std::size_t target_x = 0, target_y = 0;
  unsigned target_type = kMemoryTypeUnified;
  void* target_host = nullptr;
  DeviceAddress target = 0;
  void* target_array = nullptr;
  std::size_t target_pitch = 0;
  std::size_t width = 0, height = 0;
};

// CUstreamBatchMemOpParams of a write or a wait of 32 bits.
struct StreamOperation {
  enum Kind : int { kWait = 1, kWrite = 2 };
  int kind = kWrite;
  DeviceAddress address = 0;
  std::uint64_t value = 0;  // the lower half counts
  unsigned flags = 0;
  DeviceAddress alias = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(StreamOperation) == 48);

// CUmemAllocationHandleType, CUmemAccessDesc: the device that may touch a mapping, and how.
inline constexpr int kHandleFileDescriptor = 1;
using ChunkHandle = unsigned long long;
struct MappingAccess {
  int location_type = 1;  // a device
  int device = 0;
  int flags = 3;  // reading and writing
};

// X(member, symbol, parameters): every function returns a Result.
#define HR_CUDA_FUNCTIONS(X)                                                                                     \
  X(init, cuInit, (unsigned flags))                                                                              \
  X(get_error_name, cuGetErrorName, (Result, const char**))                                                      \
  X(get_error_string, cuGetErrorString, (Result, const char**))                                                  \
  X(device_get_count, cuDeviceGetCount, (int*))                                                                  \
  X(device_get_attribute, cuDeviceGetAttribute, (int* value, int attribute, int device))                         \
  X(device_can_access_peer, cuDeviceCanAccessPeer, (int*, int device, int peer))                                 \
  X(primary_state, cuDevicePrimaryCtxGetState, (int device, unsigned* flags, int* active))                       \
  X(primary_retain, cuDevicePrimaryCtxRetain, (ContextHandle*, int device))                                      \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (int device))                                                 \
  X(context_push, cuCtxPushCurrent_v2, (ContextHandle))                                                          \
  X(context_pop, cuCtxPopCurrent_v2, (ContextHandle*))                                                           \
  X(context_current, cuCtxGetCurrent, (ContextHandle*))                                                          \
  X(context_device, cuCtxGetDevice, (int*))                                                                      \
  X(context_enable_peer, cuCtxEnablePeerAccess, (ContextHandle peer, unsigned flags))                            \
  X(pointer_get_attributes, cuPointerGetAttributes, (unsigned, int*, void**, DeviceAddress))                     \
  X(pointer_get_attribute, cuPointerGetAttribute, (void*, int, DeviceAddress))                                   \
  X(memory_allocate, cuMemAlloc_v2, (DeviceAddress*, std::size_t))                                               \
  X(memory_free, cuMemFree_v2, (DeviceAddress))                                                                  \
  X(copy_async, cuMemcpyAsync, (DeviceAddress to, DeviceAddress from, std::size_t, StreamHandle))                \
  X(copy_pitched_async, cuMemcpy2DAsync_v2, (const PitchedCopy*, StreamHandle))                                  \
  X(copy_peer_async, cuMemcpyPeerAsync,                                                                          \
    (DeviceAddress to, ContextHandle, DeviceAddress from, ContextHandle, std::size_t, StreamHandle))             \
  X(stream_create, cuStreamCreateWithPriority, (StreamHandle*, unsigned flags, int priority))                    \
  X(stream_destroy, cuStreamDestroy_v2, (StreamHandle))                                                          \
  X(stream_synchronize, cuStreamSynchronize, (StreamHandle))                                                     \
  X(stream_wait_event, cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned flags))                           \
  X(event_create, cuEventCreate, (EventHandle*, unsigned flags))                                                 \
  X(event_destroy, cuEventDestroy_v2, (EventHandle))                                                             \
  X(event_record, cuEventRecord, (EventHandle, StreamHandle))                                                    \
  X(event_query, cuEventQuery, (EventHandle))                                                                    \
  X(stream_query, cuStreamQuery, (StreamHandle))                                                                 \
  X(host_allocate, cuMemHostAlloc, (void**, std::size_t, unsigned flags))                                        \
  X(host_free, cuMemFreeHost, (void*))                                                                           \
  X(host_register, cuMemHostRegister_v2, (void*, std::size_t, unsigned flags))                                   \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2, (DeviceAddress*, void*, unsigned flags))                  \
  X(host_unregister, cuMemHostUnregister, (void*))                                                               \
  X(ipc_get_handle, cuIpcGetMemHandle, (IpcHandle*, DeviceAddress))                                              \
  X(ipc_open_handle, cuIpcOpenMemHandle_v2, (DeviceAddress*, IpcHandle, unsigned flags))                         \
  X(ipc_close_handle, cuIpcCloseMemHandle, (DeviceAddress))                                                      \
  X(module_load, cuModuleLoadData, (ModuleHandle*, const void* image))                                           \
  X(module_unload, cuModuleUnload, (ModuleHandle))                                                               \
  X(module_function, cuModuleGetFunction, (FunctionHandle*, ModuleHandle, const char* name))                     \
  X(launch, cuLaunchKernel,                                                                                      \
    (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, \
     void**))

// Functions for memory in chunks (VMM), which programs map themselves. Used if the driver has all of them.
#define HR_CUDA_CHUNK_FUNCTIONS(X)                                                                             \
  X(chunk_retain, cuMemRetainAllocationHandle, (ChunkHandle*, void* address))                                  \
  X(chunk_export, cuMemExportToShareableHandle, (void* descriptor, ChunkHandle, int type, unsigned long long)) \
  X(chunk_import, cuMemImportFromShareableHandle, (ChunkHandle*, void* descriptor, int type))                  \
  X(chunk_release, cuMemRelease, (ChunkHandle))                                                                \
  X(address_reserve, cuMemAddressReserve,                                                                      \
    (DeviceAddress*, std::size_t, std::size_t alignment, DeviceAddress wanted, unsigned long long))            \
  X(address_free, cuMemAddressFree, (DeviceAddress, std::size_t))                                              \
  X(chunk_map, cuMemMap, (DeviceAddress, std::size_t, std::size_t offset, ChunkHandle, unsigned long long))    \
  X(chunk_unmap, cuMemUnmap, (DeviceAddress, std::size_t))                                                     \
  X(set_access, cuMemSetAccess, (DeviceAddress, std::size_t, const MappingAccess*, std::size_t count))

struct Driver {
#define HR_CUDA_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  HR_CUDA_FUNCTIONS(HR_CUDA_MEMBER)
  HR_CUDA_CHUNK_FUNCTIONS(HR_CUDA_MEMBER)
#undef HR_CUDA_MEMBER
  bool has_chunks = false;  // true if it has HR_CUDA_CHUNK_FUNCTIONS
  // From CUDA 12.0 on; null with older drivers. The id differs for every context ever made in the process.
  Result (*context_id)(ContextHandle, unsigned long long*) = nullptr;
  // From CUDA 10.0 and 10.1 on.
  Result (*stream_is_capturing)(StreamHandle, int* status) = nullptr;
  Result (*exchange_capture_mode)(int* mode) = nullptr;
  // From CUDA 11.7 on.
  Result (*stream_write_value)(StreamHandle, DeviceAddress, std::uint32_t, unsigned flags) = nullptr;
  Result (*stream_wait_value)(StreamHandle, DeviceAddress, std::uint32_t, unsigned flags) = nullptr;
  Result (*stream_batch)(StreamHandle, unsigned count, StreamOperation*, unsigned flags) = nullptr;
  Result (*stream_context)(StreamHandle, ContextHandle*) = nullptr;
  Result (*stream_begin_capture)(StreamHandle, int mode) = nullptr;
  Result (*stream_end_capture)(StreamHandle, GraphHandle*) = nullptr;
  Result (*graph_destroy)(GraphHandle) = nullptr;
  // From CUDA 12.4 on.
  Result (*module_function_count)(unsigned*, ModuleHandle) = nullptr;
  Result (*module_functions)(FunctionHandle*, unsigned count, ModuleHandle) = nullptr;
  Result (*function_load)(FunctionHandle) = nullptr;
};

// The program may be capturing a stream (CUDA graphs), in this thread or in another one. Until the capture has ended,
// the driver rejects all calls that could wait, and each rejected call invalidates the capture. None of our streams is
// captured, so the members of the table that could be rejected are called in the relaxed capture mode
// (cuThreadExchangeStreamCaptureMode), and the thread's own mode is restored on return. Only the legacy default stream
// must still be avoided (default_stream_barred()).

// Returns null if there is no usable driver, or the knob `cuda` is off. The first call opens the library.
const Driver* find_driver();

// Returns the driver; find_driver() must have succeeded.
const Driver& driver() noexcept;

// True if the program captures a stream of the current context that synchronises with the legacy default stream. The
// latter must then be neither used nor queried until the capture has ended.
[[nodiscard]] bool default_stream_barred() noexcept;

// Name and text of an error, for messages: "CUDA_ERROR_X (text)". Both belong to the driver and are never freed.
struct ErrorText {
  const char* name = "unknown CUDA error";
  const char* text = "";
};
ErrorText error_text(Result result) noexcept;

// Returns kOk, or MPI_ERR_OTHER (MPI_ERR_NO_MEM for exhausted device memory) with the call, its subject, and the
// reason.
[[gnu::cold]] Status report(Result result, const char* call, int device, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

}  // namespace hr::mem::cuda

// Returns from the enclosing function if a driver call failed: HR_CUDA(device, call, "what %p", ...).
#define HR_CUDA(device, member, arguments, ...)                                          \
  do {                                                                                   \
    const ::hr::mem::cuda::Result hr_cuda_ = ::hr::mem::cuda::driver().member arguments; \
    if (hr_cuda_ != ::hr::mem::cuda::kSuccess) [[unlikely]]                              \
      return ::hr::mem::cuda::report(hr_cuda_, #member, device, __VA_ARGS__);            \
  } while (false)
