// Driver: the table of functions that a maker (a GPU vendor's backend) provides, for contexts, memory, streams, events,
// modules and kernels. Everything else about devices (mem/device/, layout/device/ and the layers above) calls this
// table and names no maker.
//
// A maker is a folder next to mem/device/ with one record, which mem/device/maker_list.cpp lists. Its open() loads the
// driver's library at run time and fills the table: with the driver's own functions where the ABI agrees, else with
// small functions that translate. The build needs no header or library of a maker. The numbers below (results,
// attributes, flags) are those of the table; a maker whose numbers differ also translates these.
//
// Owner: one process-wide table, filled by the first call of find_driver(), never unloaded (the program uses the same
// library). A process uses the devices of one maker: the one whose driver opens or, of several, the first with devices.
// Threads: find_driver() runs under the library lock; the table is constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace hr::mem::device {

// --- types: handles belong to the driver ---
using Result = int;
using DeviceAddress = unsigned long long;
using ContextHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using GraphHandle = void*;
using GraphNodeHandle = void*;

// Lets another process map an allocation.
struct IpcHandle {
  unsigned char bytes[64];
};

// Result codes that the library distinguishes.
inline constexpr Result kSuccess = 0;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kDeinitialized = 4;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kAlreadyMapped = 208;
inline constexpr Result kNoBinaryForGpu = 209;
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
inline constexpr unsigned kMemoryTypeUnified = 4;  // memory type of a copy's operand: derived from the address

inline constexpr int kDeviceMultiprocessorCount = 16;
inline constexpr int kDevicePciBus = 33;
inline constexpr int kDevicePciDevice = 34;
inline constexpr int kDeviceMemoryClock = 36;  // kHz
inline constexpr int kDeviceMemoryWidth = 37;  // bits
inline constexpr int kDevicePciDomain = 50;
inline constexpr int kDeviceFlushesRemoteWrites = 98;
inline constexpr int kDeviceMps = 133;     // processes share the device without time-slicing; the query may return an
                                           // error
inline constexpr int kPeerHasAtomics = 3;  // attribute of the link between two devices

inline constexpr unsigned kStreamDefault = 0;  // synchronises with the legacy default stream
inline constexpr unsigned kStreamNonBlocking = 1;
// Priority of a stream whose kernels run before waiting thread blocks of the program; the driver clamps it to the
// device's range.
inline constexpr int kHighestPriority = -100;
// Condition that ends a wait for a word. The comparison is cyclic, except for words from word_allocate.
inline constexpr unsigned kWaitAtLeast = 0;
inline constexpr unsigned kWaitFlush = 1U << 30;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterDeviceMap = 2;
inline StreamHandle legacy_stream() noexcept { return reinterpret_cast<StreamHandle>(std::uintptr_t{1}); }

// `height` rows of `width` bytes.
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

// A 32-bit write or wait in a stream.
struct StreamOperation {
  enum Kind : int { kWait = 1, kWrite = 2 };
  int kind = kWrite;
  DeviceAddress address = 0;
  std::uint64_t value = 0;  // only the lower half is used
  unsigned flags = 0;
  DeviceAddress alias = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(StreamOperation) == 48);

struct Uuid {
  unsigned char bytes[16];
};

// Kind of handle with which a chunk is exported. MappingAccess: the device that may access a mapping, and how.
inline constexpr int kHandleFileDescriptor = 1;
using ChunkHandle = unsigned long long;
struct MappingAccess {
  int location_type = 1;  // a device
  int device = 0;
  int flags = 3;  // reading and writing
};

// X(member, parameters): every function returns a Result.
#define HR_DEVICE_FUNCTIONS(X)                                                                                        \
  X(init, (unsigned flags))                                                                                           \
  X(get_error_name, (Result, const char**))                                                                           \
  X(get_error_string, (Result, const char**))                                                                         \
  X(device_get_count, (int*))                                                                                         \
  X(device_get_attribute, (int* value, int attribute, int device))                                                    \
  X(device_can_access_peer, (int*, int device, int peer))                                                             \
  X(primary_state, (int device, unsigned* flags, int* active))                                                        \
  X(primary_retain, (ContextHandle*, int device))                                                                     \
  X(primary_release, (int device))                                                                                    \
  X(context_push, (ContextHandle))                                                                                    \
  X(context_pop, (ContextHandle*))                                                                                    \
  X(context_current, (ContextHandle*))                                                                                \
  X(context_device, (int*))                                                                                           \
  X(context_enable_peer, (ContextHandle peer, unsigned flags))                                                        \
  X(pointer_get_attributes, (unsigned, int*, void**, DeviceAddress))                                                  \
  X(pointer_get_attribute, (void*, int, DeviceAddress))                                                               \
  X(memory_allocate, (DeviceAddress*, std::size_t))                                                                   \
  X(memory_free, (DeviceAddress))                                                                                     \
  X(copy_async, (DeviceAddress to, DeviceAddress from, std::size_t, StreamHandle))                                    \
  X(copy_pitched_async, (const PitchedCopy*, StreamHandle))                                                           \
  X(copy_peer_async, (DeviceAddress to, ContextHandle, DeviceAddress from, ContextHandle, std::size_t, StreamHandle)) \
  X(stream_create, (StreamHandle*, unsigned flags, int priority))                                                     \
  X(stream_destroy, (StreamHandle))                                                                                   \
  X(stream_synchronize, (StreamHandle))                                                                               \
  X(stream_wait_event, (StreamHandle, EventHandle, unsigned flags))                                                   \
  X(event_create, (EventHandle*, unsigned flags))                                                                     \
  X(event_destroy, (EventHandle))                                                                                     \
  X(event_record, (EventHandle, StreamHandle))                                                                        \
  X(event_query, (EventHandle))                                                                                       \
  X(stream_query, (StreamHandle))                                                                                     \
  X(host_allocate, (void**, std::size_t, unsigned flags))                                                             \
  X(host_free, (void*))                                                                                               \
  X(host_register, (void*, std::size_t, unsigned flags))                                                              \
  X(host_device_pointer, (DeviceAddress*, void*, unsigned flags))                                                     \
  X(host_unregister, (void*))                                                                                         \
  X(ipc_get_handle, (IpcHandle*, DeviceAddress))                                                                      \
  X(ipc_open_handle, (DeviceAddress*, IpcHandle, unsigned flags))                                                     \
  X(ipc_close_handle, (DeviceAddress))                                                                                \
  X(module_load, (ModuleHandle*, const void* image))                                                                  \
  X(module_unload, (ModuleHandle))                                                                                    \
  X(module_function, (FunctionHandle*, ModuleHandle, const char* name))                                               \
  X(launch, (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle,      \
             void**, void**))

// Functions for chunked memory (VMM), which programs map themselves. Used if the driver has all of them. chunk_export
// opens a descriptor for the chunk that contains an address; the caller closes the descriptor. chunk_import takes a
// descriptor, which the caller keeps open until the chunk is mapped and accessible.
#define HR_DEVICE_CHUNK_FUNCTIONS(X)                                                                                 \
  X(chunk_export, (int* descriptor, DeviceAddress))                                                                  \
  X(chunk_import, (ChunkHandle*, int descriptor))                                                                    \
  X(chunk_release, (ChunkHandle))                                                                                    \
  X(address_reserve, (DeviceAddress*, std::size_t, std::size_t alignment, DeviceAddress wanted, unsigned long long)) \
  X(address_free, (DeviceAddress, std::size_t))                                                                      \
  X(chunk_map, (DeviceAddress, std::size_t, std::size_t offset, ChunkHandle, unsigned long long))                    \
  X(chunk_unmap, (DeviceAddress, std::size_t))                                                                       \
  X(set_access, (DeviceAddress, std::size_t, const MappingAccess*, std::size_t count))

// The maker's own names for the objects that programs use, for messages.
struct Names {
  const char* maker = "device";
  const char* stream_type = "";
  const char* per_thread_stream = "";  // the default stream that differs from thread to thread
  const char* create_stream = "";
  const char* set_device = "";  // makes a device current
};

struct Driver {
  Names names;
  int support = -1;                                        // that of the Maker; set by find_driver()
  const char* (*symbol_of)(const char* member) = nullptr;  // the driver's own name for a member, for messages
  const void* kernels = nullptr;                           // image of the library's kernels, for module_load
  bool kernels_built = false;                              // false: the image holds no code
  bool stores_appear_early = true;  // others see a kernel's stores to device memory, in the order of its fences, while
                                    // it runs
  bool always_current = false;      // some context is current in every thread, whether the program uses devices or not

#define HR_DEVICE_MEMBER(member, parameters) Result(*member) parameters = nullptr;
  HR_DEVICE_FUNCTIONS(HR_DEVICE_MEMBER)
  HR_DEVICE_CHUNK_FUNCTIONS(HR_DEVICE_MEMBER)
#undef HR_DEVICE_MEMBER
  bool has_chunks = false;  // true if the driver has HR_DEVICE_CHUNK_FUNCTIONS

  // The functions below are null if the driver lacks them. The id of a context differs from those of all other contexts
  // ever created in the process.
  Result (*context_id)(ContextHandle, unsigned long long*) = nullptr;
  Result (*stream_is_capturing)(StreamHandle, int* status) = nullptr;
  // `id`: of the capture, unique in the process. The last three may be null.
  Result (*stream_capture_info)(StreamHandle, int* status, unsigned long long* id, GraphHandle*,
                                const GraphNodeHandle** dependencies, std::size_t* count) = nullptr;
  Result (*exchange_capture_mode)(int* mode) = nullptr;
  Result (*peer_attribute)(int* value, int attribute, int device, int peer) = nullptr;
  Result (*device_uuid)(Uuid*, int device) = nullptr;  // differs between the parts of a partitioned device (MIG)
  Result (*stream_write_value)(StreamHandle, DeviceAddress, std::uint32_t, unsigned flags) = nullptr;
  Result (*stream_wait_value)(StreamHandle, DeviceAddress, std::uint32_t, unsigned flags) = nullptr;
  // Allocates a word of 32 bits for which streams can wait, at the same address for devices and the host; memory_free
  // frees it. If this is null, streams can wait for words in any memory, with the comparison of kWaitAtLeast. Otherwise
  // they can wait only for such words, compare them as unsigned numbers, and cannot be captured with these operations.
  Result (*word_allocate)(DeviceAddress*) = nullptr;
  Result (*stream_batch)(StreamHandle, unsigned count, StreamOperation*, unsigned flags) = nullptr;
  Result (*stream_context)(StreamHandle, ContextHandle*) = nullptr;
  Result (*stream_begin_capture)(StreamHandle, int mode) = nullptr;
  Result (*stream_end_capture)(StreamHandle, GraphHandle*) = nullptr;
  Result (*graph_destroy)(GraphHandle) = nullptr;
  Result (*module_function_count)(unsigned*, ModuleHandle) = nullptr;
  Result (*module_functions)(FunctionHandle*, unsigned count, ModuleHandle) = nullptr;
  Result (*function_load)(FunctionHandle) = nullptr;
};

// A maker of devices. open() loads its driver and fills the table. It returns false if there is no usable driver
// (and logs the reason), or if a setting forbids its use.
struct Maker {
  const char* name;
  int support;  // MPIX_GPU_SUPPORT_* of the maker (include/mpi-ext.h)
  bool (*open)(Driver* table);
};

// The program may be capturing a stream (a graph), in this thread or in another one. Until the capture has ended,
// the driver rejects all calls that could wait, and each rejected call invalidates the capture. The library's own
// streams are never captured, so the table's functions that could be rejected are called in the relaxed capture mode
// (exchange_capture_mode), and the thread's own mode is restored on return. Only the legacy default stream must still
// be avoided (default_stream_barred()).

// Returns null if no maker has a usable driver. The first call opens the libraries of the makers.
const Driver* find_driver();

// Returns the driver; find_driver() must have succeeded.
const Driver& driver() noexcept;

// True if the program is capturing a stream of the current context that synchronises with the legacy default stream.
// The stream must then be neither used nor queried until the capture has ended.
[[nodiscard]] bool default_stream_barred() noexcept;

// Name and description of an error, for messages: "NAME (text)". Both belong to the driver and are never freed.
struct ErrorText {
  const char* name = "unknown device error";
  const char* text = "";
};
ErrorText error_text(Result result) noexcept;

// Returns kOk, or MPI_ERR_OTHER (MPI_ERR_NO_MEM for exhausted device memory) with the call, its subject, and the
// reason.
[[gnu::cold]] Status report(Result result, const char* call, int device, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

}  // namespace hr::mem::device

// Returns from the enclosing function if a driver call failed: HR_DEVICE(ordinal, call, "what %p", ...).
#define HR_DEVICE(ordinal, member, arguments, ...)                                             \
  do {                                                                                         \
    const ::hr::mem::device::Result hr_result_ = ::hr::mem::device::driver().member arguments; \
    if (hr_result_ != ::hr::mem::device::kSuccess) [[unlikely]]                                \
      return ::hr::mem::device::report(hr_result_, #member, ordinal, __VA_ARGS__);             \
  } while (false)
