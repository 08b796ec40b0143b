// The maker HIP (AMD): fills the table (mem/device.hpp) with functions over the HIP runtime.
//
// Result codes have CUDA's numbers in HIP and in the table. The legacy default stream is a null handle in HIP, and 1 in
// the table.
#include <cstdio>
#include <cstring>

#include "base/knobs.hpp"
#include "mem/hip/chunks.hpp"
#include "mem/hip/contexts.hpp"
#include "mem/hip/maker.hpp"
#include "mem/hip/pointer.hpp"
#include "mem/hip/runtime.hpp"

extern "C" const unsigned char headrace_code_objects[];  // kernels/

namespace hr::mem::hip {
namespace {

using device::Driver;

template <class T>
T native(T value) noexcept {
  return value;
}
// No other handle has this value.
template <>
void* native(void* value) noexcept {
  return value == device::legacy_stream() ? nullptr : value;
}

// Sets a member of the table to a function with the same arguments.
template <auto kFunction>
struct Same;
template <class... Arguments, Result (*Runtime::*kFunction)(Arguments...)>
struct Same<kFunction> {
  static Result call(Arguments... arguments) {
    const QuietCalls quietly;
    return quietly((runtime().*kFunction)(native(arguments)...));
  }
};

// X(member, symbol)
#define HR_HIP_SAME(X)                            \
  X(init, hipInit)                                \
  X(device_get_count, hipGetDeviceCount)          \
  X(context_device, hipGetDevice)                 \
  X(memory_allocate, hipMalloc)                   \
  X(memory_free, hipFree)                         \
  X(stream_create, hipStreamCreateWithPriority)   \
  X(stream_destroy, hipStreamDestroy)             \
  X(stream_synchronize, hipStreamSynchronize)     \
  X(stream_wait_event, hipStreamWaitEvent)        \
  X(stream_query, hipStreamQuery)                 \
  X(event_destroy, hipEventDestroy)               \
  X(event_record, hipEventRecord)                 \
  X(event_query, hipEventQuery)                   \
  X(host_free, hipHostFree)                       \
  X(host_register, hipHostRegister)               \
  X(host_unregister, hipHostUnregister)           \
  X(host_device_pointer, hipHostGetDevicePointer) \
  X(ipc_get_handle, hipIpcGetMemHandle)           \
  X(ipc_close_handle, hipIpcCloseMemHandle)       \
  X(module_load, hipModuleLoadData)               \
  X(module_unload, hipModuleUnload)               \
  X(module_function, hipModuleGetFunction)        \
  X(launch, hipModuleLaunchKernel)
#define HR_HIP_SAME_OPTIONAL(X)                                \
  X(stream_is_capturing, hipStreamIsCapturing)                 \
  X(exchange_capture_mode, hipThreadExchangeStreamCaptureMode) \
  X(stream_write_value, hipStreamWriteValue32)                 \
  X(chunk_release, hipMemRelease)                              \
  X(address_reserve, hipMemAddressReserve)                     \
  X(address_free, hipMemAddressFree)                           \
  X(chunk_map, hipMemMap)                                      \
  X(chunk_unmap, hipMemUnmap)                                  \
  X(set_access, hipMemSetAccess)
#define HR_HIP_TRANSLATED(X)                         \
  X(get_error_name, hipGetErrorName)                 \
  X(get_error_string, hipGetErrorString)             \
  X(device_get_attribute, hipDeviceGetAttribute)     \
  X(device_can_access_peer, hipDeviceCanAccessPeer)  \
  X(primary_state, hipDevicePrimaryCtxGetState)      \
  X(primary_retain, hipDevicePrimaryCtxRetain)       \
  X(primary_release, hipDevicePrimaryCtxRelease)     \
  X(context_push, hipSetDevice)                      \
  X(context_pop, hipSetDevice)                       \
  X(context_current, hipGetDevice)                   \
  X(context_enable_peer, hipDeviceEnablePeerAccess)  \
  X(pointer_get_attributes, hipPointerGetAttributes) \
  X(pointer_get_attribute, hipPointerGetAttribute)   \
  X(copy_async, hipMemcpyAsync)                      \
  X(copy_pitched_async, hipMemcpy2DAsync)            \
  X(copy_peer_async, hipMemcpyPeerAsync)             \
  X(event_create, hipEventCreateWithFlags)           \
  X(host_allocate, hipHostMalloc)                    \
  X(ipc_open_handle, hipIpcOpenMemHandle)            \
  X(stream_context, hipStreamGetDevice)              \
  X(stream_wait_value, hipStreamWaitValue32)         \
  X(word_allocate, hipExtMallocWithFlags)            \
  X(chunk_export, hipMemExportToShareableHandle)     \
  X(chunk_import, hipMemImportFromShareableHandle)

const char* symbol_of(const char* member) {
#define HR_HIP_SYMBOL(name, symbol) \
  if (std::strcmp(member, #name) == 0) return #symbol;
  HR_HIP_SAME(HR_HIP_SYMBOL)
  HR_HIP_SAME_OPTIONAL(HR_HIP_SYMBOL)
  HR_HIP_TRANSLATED(HR_HIP_SYMBOL)
#undef HR_HIP_SYMBOL
  return member;
}

Result get_error_name(Result code, const char** name) {
  *name = runtime().hipGetErrorName(code);
  return device::kSuccess;
}

Result get_error_string(Result code, const char** text) {
  *text = runtime().hipGetErrorString(code);
  return device::kSuccess;
}

Result pci_address(int device, int attribute, int* value) {
  unsigned domain = 0, bus = 0, number = 0;
  char text[32] = "";
  const QuietCalls quietly;
  if (const Result result = quietly(runtime().hipDeviceGetPCIBusId(text, sizeof text, device));
      result != device::kSuccess)
    return result;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &number) != 3) return device::kInvalidValue;
  *value = static_cast<int>(attribute == device::kDevicePciDomain ? domain
                            : attribute == device::kDevicePciBus  ? bus
                                                                  : number);
  return device::kSuccess;
}

Result device_get_attribute(int* value, int attribute, int device) {
  constexpr int kMemoryWidth = 59;          // hipDeviceAttributeMemoryBusWidth
  constexpr int kMemoryClock = 60;          // hipDeviceAttributeMemoryClockRate
  constexpr int kMultiprocessorCount = 63;  // hipDeviceAttributeMultiprocessorCount
  const auto ask = [value, device](int which) {
    const QuietCalls quietly;
    return quietly(runtime().hipDeviceGetAttribute(value, which, device));
  };
  switch (attribute) {
    case device::kDevicePciDomain:
    case device::kDevicePciBus:
    case device::kDevicePciDevice:
      return pci_address(device, attribute, value);
    case device::kDeviceMultiprocessorCount:
      return ask(kMultiprocessorCount);
    case device::kDeviceMemoryClock:
      return ask(kMemoryClock);
    case device::kDeviceMemoryWidth:
      return ask(kMemoryWidth);
    case device::kDeviceMps:  // queues of several processes run concurrently
      *value = 1;
      return device::kSuccess;
    case device::kDeviceFlushesRemoteWrites:
      *value = 0;
      return device::kSuccess;
    default:
      return device::kInvalidValue;
  }
}

// See context_enable_peer().
Result device_can_access_peer(int* possible, int, int) {
  *possible = 0;
  return device::kSuccess;
}

Result copy_async(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream) {
  const QuietCalls quietly;
  return quietly(runtime().hipMemcpyAsync(to, from, bytes, kCopyByAddresses, native(stream)));
}

// The library copies only between addresses (kMemoryTypeUnified), never from or to arrays.
Result copy_pitched_async(const device::PitchedCopy* copy, StreamHandle stream) {
  if (copy->source_type != device::kMemoryTypeUnified || copy->target_type != device::kMemoryTypeUnified)
    return device::kInvalidValue;
  const DeviceAddress source = copy->source + copy->source_y * copy->source_pitch + copy->source_x;
  const DeviceAddress target = copy->target + copy->target_y * copy->target_pitch + copy->target_x;
  const QuietCalls quietly;
  return quietly(runtime().hipMemcpy2DAsync(target, copy->target_pitch, source, copy->source_pitch, copy->width,
                                            copy->height, kCopyByAddresses, native(stream)));
}

Result copy_peer_async(DeviceAddress to, device::ContextHandle to_context, DeviceAddress from,
                       device::ContextHandle from_context, std::size_t bytes, StreamHandle stream) {
  const QuietCalls quietly;
  return quietly(
      runtime().hipMemcpyPeerAsync(to, device_of(to_context), from, device_of(from_context), bytes, native(stream)));
}

// The event makes earlier results visible to other processes and to the CPU.
Result event_create(EventHandle* event, unsigned flags) {
  const QuietCalls quietly;
  return quietly(runtime().hipEventCreateWithFlags(event, flags | kEventReleaseToSystem));
}

// Flags and mailboxes are in this memory, so the device must not cache it.
Result host_allocate(void** memory, std::size_t bytes, unsigned flags) {
  const QuietCalls quietly;
  return quietly(runtime().hipHostMalloc(memory, bytes, flags | device::kHostRegisterDeviceMap | kHostCoherent));
}

// The flag for lazy access to peers is 0 in ROCm 5 and 1 in later versions, which accept no other value.
Result ipc_open_handle(DeviceAddress* address, IpcHandle handle, unsigned flags) {
  const QuietCalls quietly;
  const Result result = quietly(runtime().hipIpcOpenMemHandle(address, handle, flags));
  if (result != device::kInvalidValue || runtime().major > 5) return result;
  return quietly(runtime().hipIpcOpenMemHandle(address, handle, 0));
}

Result stream_context(StreamHandle stream, device::ContextHandle* context) {
  int device = -1;
  const QuietCalls quietly;
  const Result result = quietly(runtime().hipStreamGetDevice(native(stream), &device));
  if (result == device::kSuccess) *context = context_of(device);
  return result;
}

Result stream_wait_value(StreamHandle stream, DeviceAddress word, std::uint32_t value, unsigned flags) {
  constexpr std::uint32_t kAllBits = ~std::uint32_t{0};
  const QuietCalls quietly;
  return quietly(runtime().hipStreamWaitValue32(native(stream), word, value, flags, kAllBits));
}

Result word_allocate(DeviceAddress* word) {
  const QuietCalls quietly;
  return quietly(runtime().hipExtMallocWithFlags(word, kSignalBytes, kSignalMemory));
}

// False if the library was built without a compiler for these kernels. A bundle begins with 24 characters, followed
// by the number of code objects.
bool holds_code(const unsigned char* bundle) {
  std::uint64_t count = 0;
  std::memcpy(&count, bundle + 24, sizeof count);
  return count != 0;
}

bool open(Driver* table) {
  if (knobs().hip == HipChoice::kOff || !open_runtime()) return false;
#define HR_HIP_FILL(member, symbol) table->member = &Same<&Runtime::symbol>::call;
#define HR_HIP_FILL_OPTIONAL(member, symbol) \
  table->member = runtime().symbol == nullptr ? nullptr : &Same<&Runtime::symbol>::call;
  HR_HIP_SAME(HR_HIP_FILL)
  HR_HIP_SAME_OPTIONAL(HR_HIP_FILL_OPTIONAL)
#undef HR_HIP_FILL
#undef HR_HIP_FILL_OPTIONAL
  table->get_error_name = &get_error_name;
  table->get_error_string = &get_error_string;
  table->device_get_attribute = &device_get_attribute;
  table->device_can_access_peer = &device_can_access_peer;
  table->primary_state = &primary_state;
  table->primary_retain = &primary_retain;
  table->primary_release = &primary_release;
  table->context_push = &context_push;
  table->context_pop = &context_pop;
  table->context_current = &context_current;
  table->context_enable_peer = &context_enable_peer;
  table->context_id = &context_id;
  table->pointer_get_attributes = &pointer_get_attributes;
  table->pointer_get_attribute = &pointer_get_attribute;
  table->copy_async = &copy_async;
  table->copy_pitched_async = &copy_pitched_async;
  table->copy_peer_async = &copy_peer_async;
  table->event_create = &event_create;
  table->host_allocate = &host_allocate;
  table->ipc_open_handle = &ipc_open_handle;
  if (runtime().hipStreamGetDevice != nullptr) table->stream_context = &stream_context;
  if (runtime().hipExtMallocWithFlags != nullptr && runtime().hipStreamWaitValue32 != nullptr) {
    table->stream_wait_value = &stream_wait_value;
    table->word_allocate = &word_allocate;
  }
  table->chunk_export = &chunk_export;
  table->chunk_import = &chunk_import;
  table->has_chunks = has_chunks();
  table->always_current = true;
  table->stores_appear_early = false;  // memory from hipMalloc is coarse-grained
  table->names = {"HIP", "hipStream_t", "hipStreamPerThread", "hipStreamCreateWithFlags", "hipSetDevice"};
  table->symbol_of = &symbol_of;
  table->kernels = headrace_code_objects;
  table->kernels_built = holds_code(headrace_code_objects);
  return true;
}

}  // namespace

constinit const device::Maker kMaker{"HIP", 2, &open};

}  // namespace hr::mem::hip
