// gpu.hpp: GPU memory and kernels for programs that must neither link to CUDA or HIP nor need their headers.
//
// The CUDA driver (libcuda.so.1) is opened at run time. If the driver has no device, AMD's HIP runtime is opened
// instead, and used through the driver's function names (gpu_hip.hpp). If HIP has no device either, available() is
// false and the program runs on the host. All work is in one context: the primary context of the device chosen with
// select(), which the CUDA runtime and frameworks also use. If a driver call fails, its name is printed to standard
// error, and fatal_exit ends the program (in an MPI program, set it to a function that calls MPI_Abort).
//
// Kernels: hr_fatbin() of cmake/HrKernels.cmake compiles .cu files and embeds them as `const unsigned char
// <name>_fatbin[]`; gpu::Module loads such an image, and launch() runs a kernel from it:
//
//   gpu::select(local_rank);
//   float* field = static_cast<float*>(gpu::allocate(bytes));
//   gpu::Module module(halo3d_fatbin);
//   gpu::Function update = module.function("halo3d_update");
//   gpu::launch(update, {blocks}, {256}, stream, field, n);       // arguments by value, types as in the kernel
//   gpu::synchronize();
//
// Header only, C++17; needs only gpu_hip.hpp from this project, and is not part of the library. Threads: select() makes
// the context current in the calling thread only; another thread calls bind_thread().
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gpu {

// Kind of memory that allocate() returns. kVmm and kVmmPrivate consist of several chunks, like the growing segments of
// frameworks; of the two, only kVmm can be exported to other processes, through a file descriptor. kHostRegistered is
// ordinary memory registered with the driver; kHostPinned is allocated by the driver.
enum class Memory { kDevice, kManaged, kPool, kVmm, kVmmPrivate, kHostRegistered, kHostPinned };

using Stream = void*;
using Event = void*;
using Function = void*;
// Handle with which other processes map an allocation.
struct IpcHandle {
  unsigned char bytes[64];
};
inline constexpr Stream kDefaultStream = nullptr;  // the legacy default stream

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace detail {

using Result = int;
using DevicePointer = unsigned long long;

struct Location {
  int type;
  int id;
};
struct AllocationProperties {
  int type;
  int handle_types;
  Location location;
  void* win32;
  unsigned char flags[8];
};
struct PitchedCopy {  // CUDA_MEMCPY2D
  std::size_t source_x = 0, source_y = 0;
  int source_type = 4;  // the type is deduced from the address
  const void* source_host = nullptr;
  DevicePointer source = 0;
  void* source_array = nullptr;
  std::size_t source_pitch = 0;
  std::size_t target_x = 0, target_y = 0;
  int target_type = 4;
  void* target_host = nullptr;
  DevicePointer target = 0;
  void* target_array = nullptr;
  std::size_t target_pitch = 0;
  std::size_t width = 0, height = 0;
};
struct AccessDescription {
  Location location;
  int flags;
};

#define GPU_DRIVER_FUNCTIONS(X)                                                                                    \
  X(Result, cuInit, cuInit, (unsigned))                                                                            \
  X(Result, cuGetErrorName, cuGetErrorName, (Result, const char**))                                                \
  X(Result, cuGetErrorString, cuGetErrorString, (Result, const char**))                                            \
  X(Result, cuDeviceGetCount, cuDeviceGetCount, (int*))                                                            \
  X(Result, cuDeviceGet, cuDeviceGet, (int*, int))                                                                 \
  X(Result, cuDeviceGetName, cuDeviceGetName, (char*, int, int))                                                   \
  X(Result, cuDeviceGetAttribute, cuDeviceGetAttribute, (int*, int, int))                                          \
  X(Result, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void**, int))                                     \
  X(Result, cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int*, int, int))                                        \
  X(Result, cuDriverGetVersion, cuDriverGetVersion, (int*))                                                        \
  X(Result, cuCtxSetCurrent, cuCtxSetCurrent, (void*))                                                             \
  X(Result, cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (void*, unsigned))                                       \
  X(Result, cuCtxSynchronize, cuCtxSynchronize, ())                                                                \
  X(Result, cuMemAlloc, cuMemAlloc_v2, (DevicePointer*, std::size_t))                                              \
  X(Result, cuMemFree, cuMemFree_v2, (DevicePointer))                                                              \
  X(Result, cuMemAllocManaged, cuMemAllocManaged, (DevicePointer*, std::size_t, unsigned))                         \
  X(Result, cuMemAllocAsync, cuMemAllocAsync, (DevicePointer*, std::size_t, Stream))                               \
  X(Result, cuMemFreeAsync, cuMemFreeAsync, (DevicePointer, Stream))                                               \
  X(Result, cuIpcGetMemHandle, cuIpcGetMemHandle, (IpcHandle*, DevicePointer))                                     \
  X(Result, cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, (DevicePointer*, IpcHandle, unsigned))                      \
  X(Result, cuMemHostRegister, cuMemHostRegister_v2, (void*, std::size_t, unsigned))                               \
  X(Result, cuMemHostUnregister, cuMemHostUnregister, (void*))                                                     \
  X(Result, cuMemHostAlloc, cuMemHostAlloc, (void**, std::size_t, unsigned))                                       \
  X(Result, cuMemFreeHost, cuMemFreeHost, (void*))                                                                 \
  X(Result, cuPointerGetAttributes, cuPointerGetAttributes, (unsigned, int*, void**, DevicePointer))               \
  X(Result, cuMemGetAllocationGranularity, cuMemGetAllocationGranularity,                                          \
    (std::size_t*, const AllocationProperties*, int))                                                              \
  X(Result, cuMemAddressReserve, cuMemAddressReserve,                                                              \
    (DevicePointer*, std::size_t, std::size_t, DevicePointer, unsigned long long))                                 \
  X(Result, cuMemAddressFree, cuMemAddressFree, (DevicePointer, std::size_t))                                      \
  X(Result, cuMemCreate, cuMemCreate,                                                                              \
    (unsigned long long*, std::size_t, const AllocationProperties*, unsigned long long))                           \
  X(Result, cuMemRelease, cuMemRelease, (unsigned long long))                                                      \
  X(Result, cuMemMap, cuMemMap, (DevicePointer, std::size_t, std::size_t, unsigned long long, unsigned long long)) \
  X(Result, cuMemUnmap, cuMemUnmap, (DevicePointer, std::size_t))                                                  \
  X(Result, cuMemSetAccess, cuMemSetAccess, (DevicePointer, std::size_t, const AccessDescription*, std::size_t))   \
  X(Result, cuMemcpy, cuMemcpy, (DevicePointer, DevicePointer, std::size_t))                                       \
  X(Result, cuMemcpyAsync, cuMemcpyAsync, (DevicePointer, DevicePointer, std::size_t, Stream))                     \
  X(Result, cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const PitchedCopy*, Stream))                                     \
  X(Result, cuMemsetD8, cuMemsetD8_v2, (DevicePointer, unsigned char, std::size_t))                                \
  X(Result, cuStreamCreate, cuStreamCreateWithPriority, (Stream*, unsigned, int))                                  \
  X(Result, cuStreamDestroy, cuStreamDestroy_v2, (Stream))                                                         \
  X(Result, cuStreamSynchronize, cuStreamSynchronize, (Stream))                                                    \
  X(Result, cuStreamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned))                                       \
  X(Result, cuStreamBeginCapture, cuStreamBeginCapture_v2, (Stream, int))                                          \
  X(Result, cuStreamEndCapture, cuStreamEndCapture, (Stream, void**))                                              \
  X(Result, cuGraphInstantiate, cuGraphInstantiateWithFlags, (void**, void*, unsigned long long))                  \
  X(Result, cuGraphDestroy, cuGraphDestroy, (void*))                                                               \
  X(Result, cuGraphExecDestroy, cuGraphExecDestroy, (void*))                                                       \
  X(Result, cuGraphLaunch, cuGraphLaunch, (void*, Stream))                                                         \
  X(Result, cuEventCreate, cuEventCreate, (Event*, unsigned))                                                      \
  X(Result, cuEventDestroy, cuEventDestroy_v2, (Event))                                                            \
  X(Result, cuEventRecord, cuEventRecord, (Event, Stream))                                                         \
  X(Result, cuEventSynchronize, cuEventSynchronize, (Event))                                                       \
  X(Result, cuEventQuery, cuEventQuery, (Event))                                                                   \
  X(Result, cuModuleLoadData, cuModuleLoadData, (void**, const void*))                                             \
  X(Result, cuModuleUnload, cuModuleUnload, (void*))                                                               \
  X(Result, cuModuleGetFunction, cuModuleGetFunction, (Function*, void*, const char*))                             \
  X(Result, cuLaunchKernel, cuLaunchKernel,                                                                        \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))

}  // namespace detail
}  // namespace gpu

#include "gpu_hip.hpp"

namespace gpu {
namespace detail {

struct Driver {
#define GPU_MEMBER(result, name, symbol, parameters) result(*name) parameters = nullptr;
  GPU_DRIVER_FUNCTIONS(GPU_MEMBER)
#undef GPU_MEMBER
  bool usable = false;
  int devices = 0;
  int device = -1;              // device chosen by select()
  std::vector<void*> contexts;  // retained primary contexts, indexed by device, null if not used; never released

  bool by_hip = false;

  Driver() {
    open_cuda();
    if (!usable) open_hip();
    contexts.resize(usable ? static_cast<std::size_t>(devices) : 0);
  }

 private:
  void open_cuda() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    bool complete = true;
#define GPU_LOAD(result, name, symbol, parameters)                    \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #symbol)); \
  if (name == nullptr) complete = false;
    GPU_DRIVER_FUNCTIONS(GPU_LOAD)
#undef GPU_LOAD
    usable = complete && cuInit(0) == 0 && cuDeviceGetCount(&devices) == 0 && devices > 0;
  }
  // Functions that the runtime lacks are null; calling one ends the program with an error that names it.
  void open_hip() {
    if (hip().library == nullptr) return;
#define GPU_LOAD(result, name, symbol, parameters) name = reinterpret_cast<decltype(name)>(hip_function(#name));
    GPU_DRIVER_FUNCTIONS(GPU_LOAD)
#undef GPU_LOAD
    fill_different(*this);
    by_hip = true;
    usable = cuInit != nullptr && cuInit(0) == 0 && cuDeviceGetCount(&devices) == 0 && devices > 0;
  }
};

inline Driver& driver() {
  static Driver instance;
  return instance;
}

struct VmmChunk {
  DevicePointer address;
  std::size_t bytes;
};
struct Allocation {
  Memory kind;
  int device;
  std::size_t bytes;
  std::vector<VmmChunk> chunks;
};
struct Allocations {
  std::mutex mutex;  // several threads may allocate
  std::unordered_map<void*, Allocation> table;
};
inline Allocations& allocations() {
  static Allocations all;
  return all;
}
inline DevicePointer address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
inline void* pointer_to(DevicePointer address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

}  // namespace detail

// Called after a failed driver call has been reported; must not return.
inline void (*fatal_exit)() = [] { std::exit(1); };

[[noreturn]] inline void fail(const char* call, const char* name, const char* text) {
  std::fprintf(stderr, "gpu: %s failed: %s (%s)\n", call, name, text);
  fatal_exit();
  std::abort();
}

// Returns a driver function; ends the program if there is no driver or the driver lacks the function.
template <class DriverFunction>
DriverFunction loaded(DriverFunction function, const char* call) {
  if (function == nullptr) fail(call, "no driver", "neither libcuda.so.1 nor libamdhip64.so has this function");
  return function;
}

inline void check(int result, const char* call) {
  if (result == 0) return;
  const char* name = "?";
  const char* text = "?";
  loaded(detail::driver().cuGetErrorName, call)(result, &name);
  loaded(detail::driver().cuGetErrorString, call)(result, &text);
  fail(call, name, text);
}

namespace detail {
inline void remember(void* pointer, Allocation record) {
  const std::lock_guard<std::mutex> guard(allocations().mutex);
  allocations().table.insert_or_assign(pointer, std::move(record));
}
inline Allocation forget(void* pointer) {
  const std::lock_guard<std::mutex> guard(allocations().mutex);
  auto found = allocations().table.extract(pointer);
  if (found.empty()) check(1, "gpu::free of a pointer that gpu::allocate did not give");
  return std::move(found.mapped());
}
}  // namespace detail

#define GPU_DRIVER(function) ::gpu::loaded(::gpu::detail::driver().function, #function)
#define GPU_CALL(function, ...) ::gpu::check(GPU_DRIVER(function)(__VA_ARGS__), #function)

// True if there is a driver and at least one device.
inline bool available() { return detail::driver().usable; }
inline int device_count() { return detail::driver().devices; }
// Returns the device chosen with select(); -1 before select().
inline int device() { return detail::driver().device; }

namespace detail {
inline void report_taken(int device) {
  std::fprintf(stderr,
               "gpu: device %d admits no further process: it is in exclusive mode and taken, or in prohibited mode. "
               "Start at most one rank for each GPU, choose other GPUs with CUDA_VISIBLE_DEVICES, or as root run: "
               "nvidia-smi -c DEFAULT\n",
               device);
}
}  // namespace detail

// Chooses device `local_rank` modulo the number of devices and makes its primary context current in this thread.
inline void select(int local_rank) {
  detail::Driver& driver = detail::driver();
  if (driver.devices <= 0) fail("gpu::select", "no device", "see gpu::available()");
  driver.device = local_rank % driver.devices;
  void*& context = driver.contexts[static_cast<std::size_t>(driver.device)];
  if (context == nullptr) {
    constexpr int kUnavailable = 46;  // CUDA_ERROR_DEVICE_UNAVAILABLE
    const int result = GPU_DRIVER(cuDevicePrimaryCtxRetain)(&context, driver.device);
    if (result == kUnavailable) detail::report_taken(driver.device);
    check(result, "cuDevicePrimaryCtxRetain");
  }
  GPU_CALL(cuCtxSetCurrent, context);
}
// Makes the selected device's context, or that of `device`, current in a thread that has not called select() itself.
// `device` must have been selected before.
inline void bind_thread(int device = -1) {
  detail::Driver& driver = detail::driver();
  GPU_CALL(cuCtxSetCurrent, driver.contexts[static_cast<std::size_t>(device < 0 ? driver.device : device)]);
}

// Lets the selected device's kernels and copies access memory of `peer` directly. Returns false if the hardware cannot
// do so.
inline bool enable_peer_access(int peer) {
  constexpr int kAlreadyEnabled = 704;
  detail::Driver& driver = detail::driver();
  if (peer == driver.device) return true;
  int possible = 0;
  GPU_CALL(cuDeviceCanAccessPeer, &possible, driver.device, peer);
  if (possible == 0) return false;
  const int selected = driver.device;
  select(peer);  // creates its context, which must exist
  select(selected);
  const int result = GPU_DRIVER(cuCtxEnablePeerAccess)(driver.contexts[static_cast<std::size_t>(peer)], 0u);
  if (result != kAlreadyEnabled) check(result, "cuCtxEnablePeerAccess");
  return true;
}

// Returns the driver's version, such as "13.0".
inline std::string driver_version() {
  int version = 0;
  GPU_CALL(cuDriverGetVersion, &version);
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

inline std::string device_name() {
  char name[128] = "none";
  if (device() >= 0) GPU_CALL(cuDeviceGetName, name, sizeof name, device());
  return name;
}

inline void* allocate(std::size_t bytes, Memory kind = Memory::kDevice) {
  using namespace detail;
  Allocation record{kind, device(), bytes, {}};
  DevicePointer address = 0;
  switch (kind) {
    case Memory::kDevice:
      GPU_CALL(cuMemAlloc, &address, bytes);
      break;
    case Memory::kManaged:
      GPU_CALL(cuMemAllocManaged, &address, bytes, 1u /* CU_MEM_ATTACH_GLOBAL */);
      break;
    case Memory::kPool:
      GPU_CALL(cuMemAllocAsync, &address, bytes, kDefaultStream);
      GPU_CALL(cuStreamSynchronize, kDefaultStream);
      break;
    case Memory::kVmm:
    case Memory::kVmmPrivate: {
      // Maps several physical chunks to one address range, as frameworks with growing segments do.
      AllocationProperties properties{};
      properties.type = 1;                                     // CU_MEM_ALLOCATION_TYPE_PINNED
      properties.handle_types = kind == Memory::kVmm ? 1 : 0;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
      properties.location = {1, device()};                     // CU_MEM_LOCATION_TYPE_DEVICE
      std::size_t chunk = 0;
      GPU_CALL(cuMemGetAllocationGranularity, &chunk, &properties, 0);
      record.bytes = (bytes + chunk - 1) / chunk * chunk;
      GPU_CALL(cuMemAddressReserve, &address, record.bytes, std::size_t{0}, DevicePointer{0}, 0ull);
      for (std::size_t offset = 0; offset < record.bytes; offset += chunk) {
        unsigned long long handle = 0;
        GPU_CALL(cuMemCreate, &handle, chunk, &properties, 0ull);
        GPU_CALL(cuMemMap, address + offset, chunk, std::size_t{0}, handle, 0ull);
        GPU_CALL(cuMemRelease, handle);  // the mapping keeps the memory
        record.chunks.push_back({address + offset, chunk});
      }
      const AccessDescription access{properties.location, 3};  // 3: read and write
      GPU_CALL(cuMemSetAccess, address, record.bytes, &access, std::size_t{1});
      break;
    }
    case Memory::kHostRegistered: {
      const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
      void* memory = std::aligned_alloc(4096, rounded);
      if (memory == nullptr) check(2, "aligned_alloc");
      GPU_CALL(cuMemHostRegister, memory, rounded, 0u);
      address = address_of(memory);
      break;
    }
    case Memory::kHostPinned: {
      void* memory = nullptr;
      GPU_CALL(cuMemHostAlloc, &memory, bytes, 1u /* CU_MEMHOSTALLOC_PORTABLE */);
      address = address_of(memory);
      break;
    }
  }
  void* pointer = pointer_to(address);
  remember(pointer, std::move(record));
  return pointer;
}

inline void free(void* pointer) {
  using namespace detail;
  if (pointer == nullptr) return;
  const Allocation record = forget(pointer);
  const int selected = device();
  if (record.device != selected) select(record.device);
  switch (record.kind) {
    case Memory::kDevice:
    case Memory::kManaged:
      GPU_CALL(cuMemFree, address_of(pointer));
      break;
    case Memory::kPool:
      GPU_CALL(cuMemFreeAsync, address_of(pointer), kDefaultStream);
      GPU_CALL(cuStreamSynchronize, kDefaultStream);
      break;
    case Memory::kVmm:
    case Memory::kVmmPrivate:
      GPU_CALL(cuCtxSynchronize);
      for (const VmmChunk& chunk : record.chunks) GPU_CALL(cuMemUnmap, chunk.address, chunk.bytes);
      GPU_CALL(cuMemAddressFree, address_of(pointer), record.bytes);
      break;
    case Memory::kHostRegistered:
      GPU_CALL(cuMemHostUnregister, pointer);
      std::free(pointer);
      break;
    case Memory::kHostPinned:
      GPU_CALL(cuMemFreeHost, pointer);
      break;
  }
  if (record.device != selected) select(selected);
}

// Copies between any two kinds of memory; complete on return.
inline void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  GPU_CALL(cuMemcpy, detail::address_of(to), detail::address_of(from), bytes);
  // A copy within the device may return before it is complete.
  GPU_CALL(cuStreamSynchronize, kDefaultStream);
}
// Pins whole pages of host memory until the process ends.
inline void pin(void* memory, std::size_t bytes) {
  const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
  GPU_CALL(cuMemHostRegister, memory, rounded, 3u /* portable, mapped for devices */);
}
inline IpcHandle ipc_handle(void* allocation) {
  IpcHandle handle;
  GPU_CALL(cuIpcGetMemHandle, &handle, detail::address_of(allocation));
  return handle;
}
// Maps the allocation that the handle describes, for the current device and until the process ends.
inline void* open_ipc(const IpcHandle& handle) {
  constexpr unsigned kLazyPeerAccess = 1;
  detail::DevicePointer address = 0;
  GPU_CALL(cuIpcOpenMemHandle, &address, handle, kLazyPeerAccess);
  return detail::pointer_to(address);
}

inline void copy_async(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes != 0) GPU_CALL(cuMemcpyAsync, detail::address_of(to), detail::address_of(from), bytes, stream);
}
// Copies `rows` rows of `bytes` bytes, with a pitch for each side, through a copy engine.
inline void copy_pitched_async(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                               std::size_t bytes, std::size_t rows, Stream stream) {
  detail::PitchedCopy copy;
  copy.source = detail::address_of(from);
  copy.source_pitch = from_pitch;
  copy.target = detail::address_of(to);
  copy.target_pitch = to_pitch;
  copy.width = bytes;
  copy.height = rows;
  GPU_CALL(cuMemcpy2DAsync, &copy, stream);
}
inline void fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  GPU_CALL(cuMemsetD8, detail::address_of(to), value, bytes);
  GPU_CALL(cuStreamSynchronize, kDefaultStream);
}
// Waits for all work in this device's context.
inline void synchronize() { GPU_CALL(cuCtxSynchronize); }

// Creates a stream. An `independent` stream does not wait for the legacy default stream. Work in an `urgent` stream
// runs before those blocks of other kernels that have not started yet.
inline Stream create_stream(bool independent = false, bool urgent = false) {
  Stream stream = nullptr;
  GPU_CALL(cuStreamCreate, &stream, independent ? 1u : 0u, urgent ? -100 : 0);  // clamped by the driver
  return stream;
}
inline void destroy_stream(Stream stream) { GPU_CALL(cuStreamDestroy, stream); }
inline void synchronize(Stream stream) { GPU_CALL(cuStreamSynchronize, stream); }

inline Event create_event() {
  Event event = nullptr;
  GPU_CALL(cuEventCreate, &event, 2u /* CU_EVENT_DISABLE_TIMING */);
  return event;
}
inline void destroy_event(Event event) { GPU_CALL(cuEventDestroy, event); }
inline void record(Event event, Stream stream) { GPU_CALL(cuEventRecord, event, stream); }
inline void wait(Stream stream, Event event) { GPU_CALL(cuStreamWaitEvent, stream, event, 0u); }
// True if all work before the event is complete; never waits.
inline bool complete(Event event) {
  constexpr int kNotReady = 600;
  const int result = GPU_DRIVER(cuEventQuery)(event);
  if (result != kNotReady) check(result, "cuEventQuery");
  return result == 0;
}
inline void synchronize_event(Event event) { GPU_CALL(cuEventSynchronize, event); }

// A graph of recorded work. Work enqueued in a stream between begin() and end() is recorded instead of executed;
// launch() enqueues all recorded work in a stream. Another stream joins the recording by waiting for an event of the
// recorded stream, which must wait for an event of each such stream before end().
class Graph {
 public:
  Graph() = default;
  ~Graph() {
    if (executable_ != nullptr) GPU_DRIVER(cuGraphExecDestroy)(executable_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  static void begin(Stream stream) {
    constexpr int kThreadLocal = 1;
    GPU_CALL(cuStreamBeginCapture, stream, kThreadLocal);
  }
  void end(Stream stream) {
    void* graph = nullptr;
    GPU_CALL(cuStreamEndCapture, stream, &graph);
    GPU_CALL(cuGraphInstantiate, &executable_, graph, 0ull);
    GPU_CALL(cuGraphDestroy, graph);
  }
  void launch(Stream stream) const { GPU_CALL(cuGraphLaunch, executable_, stream); }

 private:
  void* executable_ = nullptr;
};

// An image embedded with hr_fatbin(), loaded into the current context.
class Module {
 public:
  explicit Module(const unsigned char* image) { GPU_CALL(cuModuleLoadData, &module_, image); }
  ~Module() {
    if (module_ != nullptr) detail::driver().cuModuleUnload(module_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Function function(const char* name) const {
    Function found = nullptr;
    check(loaded(detail::driver().cuModuleGetFunction, name)(&found, module_, name), name);
    return found;
  }

 private:
  void* module_ = nullptr;
};

// Starts a kernel; the arguments are copied at once and must have the types of the kernel's parameters.
template <class... Arguments>
void launch(Function function, Dim3 grid, Dim3 block, Stream stream, Arguments... arguments) {
  void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
  GPU_CALL(cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0u, stream, pointers,
           static_cast<void**>(nullptr));
}

}  // namespace gpu
