// The fake CUDA driver: declarations shared by its files. See README.md for the emulated functions.
//
// Owner: process-wide state, never destroyed (the program may call the driver from its own destructors). A program's
// handles are addresses of objects that stay allocated after the program ends them, so that a stale handle is
// recognised and gets the driver's error. Threads: `mutex` guards everything here; streams use their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "job.hpp"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

using Result = int;
using Address = unsigned long long;

inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeviceUnavailable = 46,
                        kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201, kMapFailed = 205,
                        kAlreadyMapped = 208, kNoBinaryForGpu = 209, kPeerAccessUnsupported = 217, kFileNotFound = 301,
                        kOperatingSystem = 304, kInvalidHandle = 400, kIllegalState = 401, kNotFound = 500,
                        kNotReady = 600, kIllegalAddress = 700, kPeerAccessAlreadyEnabled = 704,
                        kPeerAccessNotEnabled = 705, kContextIsDestroyed = 709, kHostAlreadyRegistered = 712,
                        kHostNotRegistered = 713, kNotSupported = 801, kCaptureUnsupported = 900,
                        kCaptureInvalidated = 901, kCaptureUnmatched = 903, kCaptureIsolation = 905,
                        kCaptureImplicit = 906, kCapturedEvent = 907, kCaptureWrongThread = 908, kUnknown = 999;

struct Stream;
struct Context;

enum class Kind { kDevice, kPool, kVmm, kImported, kManaged, kHost, kRegistered };

// A part of a reserved (VMM) range that is backed by memory.
struct Mapping {
  std::size_t bytes;
  int device;
  Address handle;
  std::uint64_t id;
  std::set<int> readers;  // devices given access
};

struct Allocation {
  Address address = 0;
  std::size_t bytes = 0;  // as requested; a reservation's whole range
  Kind kind = Kind::kDevice;
  int device = 0;
  Context* context = nullptr;
  std::uint64_t id = 0;
  std::uint64_t physical = 0;           // offset in the memory file
  std::map<Address, Mapping> mappings;  // kVmm only
  int opened = 0;                       // kImported: times opened
  bool pinned_by_export = false;        // its bytes stay in use until the process ends
  bool fine_grained = false;            // kernels' stores are visible at once, even if late_stores()
  job::Export exported;                 // kDevice: once a handle was requested; kImported: its source
  bool guarded() const { return kind <= Kind::kImported; }
};

struct Context {
  int device = 0;
  bool primary = false;
  bool alive = true;
  std::uint64_t id = 0;
  int references = 0;
  Result sticky = kSuccess;
  Stream* legacy = nullptr;
  std::set<Stream*> streams;
  std::set<Context*> peers;
};

struct State {
  std::mutex mutex;
  int devices = 2;                  // visible to this process
  std::vector<int> physical;        // number of each device on the machine (CUDA_VISIBLE_DEVICES)
  int instances = 0;                // MIG instances of each GPU, each of which is a device; 0: MIG is off
  int compute_mode = 0;             // 0: default, 2: prohibited, 3: one process for each device
  bool whole_reservations = false;  // pointer queries report the whole reservation of VMM memory
  std::uint64_t device_bytes = std::uint64_t{16} << 30;
  std::map<Address, Allocation> allocations;
  std::set<Context*> contexts;
  std::map<int, Context*> primaries;
  std::set<void*> modules;
  std::uint64_t next_id = 1;
};
State& state();

// Returns kSuccess after cuInit in this process (not in a forked child). Every driver call begins with this function or
// with require_context(), which fail if FAKE_CUDA_FAIL requests it (faults.cpp).
Result require_init(const char* call = __builtin_FUNCTION());
// Counts a call, if FAKE_CUDA_COUNTS requests it (counts.cpp).
void count(const char* call);
// Counts the call, and returns the result that FAKE_CUDA_FAIL requests for it, else kSuccess.
Result injected(const char* call);
// Strips the version from a call's name in libcuda.so.1.
std::string without_version(const std::string& call);
// Returns an error, and invalidates the capture, if a capture in progress forbids this call (capture.cpp).
Result allowed_while_capturing(const char* call);

// Returns the devices that CUDA_VISIBLE_DEVICES makes visible, by their numbers on a machine of `all` (device.cpp).
std::vector<int> visible_devices(int all);
bool valid_device(int device);
// True if two different devices of the machine can access each other's memory.
bool peers(int physical, int other);

// --- contexts (context.cpp) ---
Context* current_context();
bool live(Context* context);
// Returns kSuccess and the current context, or the reason why there is none.
Result require_context(Context** context, const char* call = __builtin_FUNCTION());

// --- memory (memory.cpp); `state().mutex` held ---
Allocation* find_allocation(Address address);
// Checks that a context's engines may access [address, address + bytes). Unknown addresses outside the device's range
// are host addresses. `by_kernel`: peer access must have been enabled, as a kernel does not go through copy engines.
Result check_access(Context* context, Address address, std::size_t bytes, bool by_kernel);
// True for addresses in a device range, allocated or not.
bool in_device_range(Address address);
// Returns the address through which the driver itself accesses device memory; other addresses unchanged.
void* alias(Address address);
// True if stores of a kernel to device memory become visible to others only when it ends (late_stores.hpp). Set before
// the first kernel, by the fake HIP runtime.
bool& late_stores();
// True if managed pages stay on the host. Set before the first allocation, by the fake HIP runtime.
bool& managed_pages_stay();
// Remove managed pages that a device accesses from the program's page table, as on hardware, until the CPU accesses
// them again. Both lock `mutex`.
void pages_go_to_device(Address first, std::size_t bytes);
void all_pages_go_to_device();  // a kernel may have touched any
Result allocate_guarded(Kind kind, std::size_t bytes, Context* context, int device, Address* address);
Result release_guarded(Address address);
void close_import(const Allocation& import);  // ipc.cpp

// Count the bytes in use on a device, over all processes of the job.
bool reserve_bytes(int device, std::size_t bytes);
void release_bytes(int device, std::size_t bytes);

// Reserve address ranges and the memory that backs them separately (VMM, IPC).
Address reserve_range(std::size_t bytes);
void release_range(Address address, std::size_t bytes);
std::uint64_t reserve_physical(std::size_t bytes);
void release_physical(std::uint64_t offset, std::size_t bytes);
int memory_file();
bool map_alias(Address address, std::size_t bytes, int file, std::uint64_t offset);
void unmap_alias(Address address, std::size_t bytes);

// Counts down uses of a cuMemCreate handle by mappings (vmm.cpp).
void drop_physical_handle(Address handle);
// Releases chunks that only their exported descriptors kept in use, if these have been closed meanwhile.
void settle_chunks();
int handle_types_of(Address handle);
// True if no reference but those of mappings is left to a cuMemCreate handle.
bool only_mapped(Address handle);

inline std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace fake_cuda
