// The maker CUDA: loads the functions of its driver into the table (mem/device.hpp), whose types and numbers are those
// of this driver's ABI. The versioned symbol names fix each function's ABI.
#include <dlfcn.h>

#include <cstring>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "mem/cuda/maker.hpp"

extern "C" const unsigned char headrace_fatbin[];  // kernels/

namespace hr::mem::cuda {
namespace {

using device::Driver;
using device::Result;

// X(member, symbol)
#define HR_CUDA_FUNCTIONS(X)                           \
  X(init, cuInit)                                      \
  X(get_error_name, cuGetErrorName)                    \
  X(get_error_string, cuGetErrorString)                \
  X(device_get_count, cuDeviceGetCount)                \
  X(device_get_attribute, cuDeviceGetAttribute)        \
  X(device_can_access_peer, cuDeviceCanAccessPeer)     \
  X(primary_state, cuDevicePrimaryCtxGetState)         \
  X(primary_retain, cuDevicePrimaryCtxRetain)          \
  X(primary_release, cuDevicePrimaryCtxRelease_v2)     \
  X(context_push, cuCtxPushCurrent_v2)                 \
  X(context_pop, cuCtxPopCurrent_v2)                   \
  X(context_current, cuCtxGetCurrent)                  \
  X(context_device, cuCtxGetDevice)                    \
  X(context_enable_peer, cuCtxEnablePeerAccess)        \
  X(pointer_get_attributes, cuPointerGetAttributes)    \
  X(pointer_get_attribute, cuPointerGetAttribute)      \
  X(memory_allocate, cuMemAlloc_v2)                    \
  X(memory_free, cuMemFree_v2)                         \
  X(copy_async, cuMemcpyAsync)                         \
  X(copy_pitched_async, cuMemcpy2DAsync_v2)            \
  X(copy_peer_async, cuMemcpyPeerAsync)                \
  X(stream_create, cuStreamCreateWithPriority)         \
  X(stream_destroy, cuStreamDestroy_v2)                \
  X(stream_synchronize, cuStreamSynchronize)           \
  X(stream_wait_event, cuStreamWaitEvent)              \
  X(event_create, cuEventCreate)                       \
  X(event_destroy, cuEventDestroy_v2)                  \
  X(event_record, cuEventRecord)                       \
  X(event_query, cuEventQuery)                         \
  X(stream_query, cuStreamQuery)                       \
  X(host_allocate, cuMemHostAlloc)                     \
  X(host_free, cuMemFreeHost)                          \
  X(host_register, cuMemHostRegister_v2)               \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2) \
  X(host_unregister, cuMemHostUnregister)              \
  X(ipc_get_handle, cuIpcGetMemHandle)                 \
  X(ipc_open_handle, cuIpcOpenMemHandle_v2)            \
  X(ipc_close_handle, cuIpcCloseMemHandle)             \
  X(module_load, cuModuleLoadData)                     \
  X(module_unload, cuModuleUnload)                     \
  X(module_function, cuModuleGetFunction)              \
  X(launch, cuLaunchKernel)

// Functions for chunked memory (VMM).
#define HR_CUDA_CHUNK_FUNCTIONS(X)        \
  X(chunk_release, cuMemRelease)          \
  X(address_reserve, cuMemAddressReserve) \
  X(address_free, cuMemAddressFree)       \
  X(chunk_map, cuMemMap)                  \
  X(chunk_unmap, cuMemUnmap)              \
  X(set_access, cuMemSetAccess)

// CUDA 12.0 added context ids, 10.1 captures, 11.3 their graphs, 11.4 the UUIDs of MIG instances, 11.7 stream memory
// operations, and 12.4 the enumeration of a module's functions.
#define HR_CUDA_OPTIONAL_FUNCTIONS(X)                         \
  X(context_id, cuCtxGetId)                                   \
  X(stream_is_capturing, cuStreamIsCapturing)                 \
  X(stream_capture_info, cuStreamGetCaptureInfo_v2)           \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode) \
  X(peer_attribute, cuDeviceGetP2PAttribute)                  \
  X(device_uuid, cuDeviceGetUuid_v2)                          \
  X(stream_write_value, cuStreamWriteValue32_v2)              \
  X(stream_wait_value, cuStreamWaitValue32_v2)                \
  X(stream_batch, cuStreamBatchMemOp_v2)                      \
  X(stream_context, cuStreamGetCtx)                           \
  X(stream_begin_capture, cuStreamBeginCapture_v2)            \
  X(stream_end_capture, cuStreamEndCapture)                   \
  X(graph_destroy, cuGraphDestroy)                            \
  X(module_function_count, cuModuleGetFunctionCount)          \
  X(module_functions, cuModuleEnumerateFunctions)             \
  X(function_load, cuFuncLoad)

// Functions behind chunk_export and chunk_import.
Result (*retain_chunk)(device::ChunkHandle*, void* address) = nullptr;
Result (*export_chunk)(void* descriptor, device::ChunkHandle, int type, unsigned long long flags) = nullptr;
Result (*import_chunk)(device::ChunkHandle*, void* descriptor, int type) = nullptr;
Result (*release_chunk)(device::ChunkHandle) = nullptr;
#define HR_CUDA_SHARE_FUNCTIONS(X)                            \
  X(chunk_retain, retain_chunk, cuMemRetainAllocationHandle)  \
  X(chunk_export, export_chunk, cuMemExportToShareableHandle) \
  X(chunk_import, import_chunk, cuMemImportFromShareableHandle)

Result chunk_export(int* descriptor, device::DeviceAddress address) {
  device::ChunkHandle handle = 0;
  Result result = retain_chunk(&handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
  if (result != device::kSuccess) return result;
  result = export_chunk(descriptor, handle, device::kHandleFileDescriptor, 0);
  (void)release_chunk(handle);
  return result;
}

// The driver expects the descriptor itself in the pointer argument.
Result chunk_import(device::ChunkHandle* handle, int descriptor) {
  return import_chunk(handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                      device::kHandleFileDescriptor);
}

const char* symbol_of(const char* member) {
#define HR_CUDA_SYMBOL(name, symbol) \
  if (std::strcmp(member, #name) == 0) return #symbol;
  HR_CUDA_FUNCTIONS(HR_CUDA_SYMBOL)
  HR_CUDA_CHUNK_FUNCTIONS(HR_CUDA_SYMBOL)
  HR_CUDA_OPTIONAL_FUNCTIONS(HR_CUDA_SYMBOL)
#undef HR_CUDA_SYMBOL
#define HR_CUDA_SHARE_SYMBOL(name, function, symbol) \
  if (std::strcmp(member, #name) == 0) return #symbol;
  HR_CUDA_SHARE_FUNCTIONS(HR_CUDA_SHARE_SYMBOL)
#undef HR_CUDA_SHARE_SYMBOL
  return member;
}

// False if the library was built without a kernel compiler. The header contains the size of the code at byte 8.
bool holds_code(const unsigned char* image) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, image + 8, sizeof bytes);
  return bytes != 0;
}

bool open(Driver* table) {
  if (knobs().cuda == CudaChoice::kOff) return false;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    log::write(log::Level::kDecision, "no CUDA driver: %s", ::dlerror());
    return false;
  }
  const char* missing = nullptr;
#define HR_CUDA_LOAD(member, symbol)                                                    \
  table->member = reinterpret_cast<decltype(table->member)>(::dlsym(library, #symbol)); \
  if (table->member == nullptr) missing = #symbol;
  HR_CUDA_OPTIONAL_FUNCTIONS(HR_CUDA_LOAD)
  missing = nullptr;
  HR_CUDA_CHUNK_FUNCTIONS(HR_CUDA_LOAD)
#define HR_CUDA_LOAD_SHARE(name, function, symbol)                            \
  function = reinterpret_cast<decltype(function)>(::dlsym(library, #symbol)); \
  if (function == nullptr) missing = #symbol;
  HR_CUDA_SHARE_FUNCTIONS(HR_CUDA_LOAD_SHARE)
#undef HR_CUDA_LOAD_SHARE
  release_chunk = table->chunk_release;
  table->chunk_export = &chunk_export;
  table->chunk_import = &chunk_import;
  table->has_chunks = missing == nullptr;
  missing = nullptr;
  HR_CUDA_FUNCTIONS(HR_CUDA_LOAD)
#undef HR_CUDA_LOAD
  if (missing != nullptr) {
    log::write(log::Level::kError, "the CUDA driver (libcuda.so.1) lacks %s: it is older than 11.2 and is not used",
               missing);
    return false;
  }
  table->names = {"CUDA", "cudaStream_t", "cudaStreamPerThread", "cudaStreamCreateWithFlags", "cudaSetDevice"};
  table->symbol_of = &symbol_of;
  table->kernels = headrace_fatbin;
  table->kernels_built = holds_code(headrace_fatbin);
  return true;
}

}  // namespace

constinit const device::Maker kMaker{"CUDA", 0, &open};

}  // namespace hr::mem::cuda
