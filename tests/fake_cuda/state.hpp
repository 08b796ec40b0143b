// The fake CUDA driver: what its files share. See README.md for what it emulates.
//
// Owner: process-wide state, never destroyed (the program may call the driver from its own destructors). Handles
// that a program holds are addresses of objects that stay allocated after their end, so that a stale handle is
// recognised and answered with the driver's error. Threads: `mutex` guards everything here; streams use their own.
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

inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kInvalidDevice = 101,
                        kInvalidImage = 200, kInvalidContext = 201, kMapFailed = 205, kNoBinaryForGpu = 209,
                        kPeerAccessUnsupported = 217, kFileNotFound = 301, kOperatingSystem = 304, kInvalidHandle = 400,
                        kIllegalState = 401, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
                        kPeerAccessAlreadyEnabled = 704, kPeerAccessNotEnabled = 705, kContextIsDestroyed = 709,
                        kHostAlreadyRegistered = 712, kHostNotRegistered = 713, kNotSupported = 801,
                        kCaptureUnsupported = 900, kCaptureInvalidated = 901, kCaptureUnmatched = 903,
                        kCaptureIsolation = 905, kCaptureImplicit = 906, kCapturedEvent = 907,
                        kCaptureWrongThread = 908, kUnknown = 999;

struct Stream;
struct Context;

enum class Kind { kDevice, kPool, kVmm, kImported, kManaged, kHost, kRegistered };

// A piece of a reserved (VMM) range that has memory behind it.
struct Mapping {
  std::size_t bytes;
  int device;
  Address handle;
  std::uint64_t id;
  std::set<int> readers;  // devices given access
};

struct Allocation {
  Address address = 0;
  std::size_t bytes = 0;  // what was asked for; a reservation's whole range
  Kind kind = Kind::kDevice;
  int device = 0;
  Context* context = nullptr;
  std::uint64_t id = 0;
  std::uint64_t physical = 0;           // offset in the memory file
  std::map<Address, Mapping> mappings;  // kVmm only
  int opened = 0;                       // kImported: times opened
  job::Export exported;                 // kDevice: once a handle was asked for; kImported: what it is
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
  int devices = 2;            // those that this process sees
  std::vector<int> physical;  // the number of each on the machine (CUDA_VISIBLE_DEVICES)
  bool peers_allowed = true;
  bool whole_reservations = false;  // what pointer queries call an allocation of VMM memory
  std::uint64_t device_bytes = std::uint64_t{16} << 30;
  std::map<Address, Allocation> allocations;
  std::set<Context*> contexts;
  std::map<int, Context*> primaries;
  std::set<void*> modules;
  std::uint64_t next_id = 1;
};
State& state();

// kSuccess after cuInit in this process (not in a forked child). This and require_context() come first in every call
// of the driver, which fails there when FAKE_CUDA_FAIL says so (faults.cpp).
Result require_init(const char* call = __builtin_FUNCTION());
// The result that FAKE_CUDA_FAIL orders for this call, else kSuccess.
Result injected(const char* call);
// A call by its name in libcuda.so.1, without the version.
std::string without_version(const std::string& call);
// What a capture under way makes of this call; an error has spoilt the capture (capture.cpp).
Result allowed_while_capturing(const char* call);

// The devices that CUDA_VISIBLE_DEVICES lets this process see, by their numbers on a machine of `all` (device.cpp).
std::vector<int> visible_devices(int all);
bool valid_device(int device);

// --- contexts (context.cpp) ---
Context* current_context();
bool live(Context* context);
// kSuccess with the current context, or why there is none to use.
Result require_context(Context** context, const char* call = __builtin_FUNCTION());

// --- memory (memory.cpp); `state().mutex` held ---
Allocation* find_allocation(Address address);
// May a context's engines touch [address, address + bytes)? Unknown addresses outside of the device's range are the
// host's. `by_kernel`: peer access must have been enabled, as a kernel does not go through copy engines.
Result check_access(Context* context, Address address, std::size_t bytes, bool by_kernel);
// Addresses a device range owns, whether allocated or not.
bool in_device_range(Address address);
// Where the driver itself touches device memory; other addresses unchanged.
void* alias(Address address);
// Managed pages that a device touches leave the program's page table, as on hardware, until the CPU touches them again.
// These two lock `mutex`.
void pages_go_to_device(Address first, std::size_t bytes);
void all_pages_go_to_device();  // a kernel may have touched any
Result allocate_guarded(Kind kind, std::size_t bytes, Context* context, int device, Address* address);
Result release_guarded(Address address);
void close_import(const Allocation& import);  // ipc.cpp

// Bytes that a device has in use, over all processes of the job.
bool reserve_bytes(int device, std::size_t bytes);
void release_bytes(int device, std::size_t bytes);

// Address ranges and memory behind them, apart from each other (VMM, IPC).
Address reserve_range(std::size_t bytes);
void release_range(Address address, std::size_t bytes);
std::uint64_t reserve_physical(std::size_t bytes);
void release_physical(std::uint64_t offset, std::size_t bytes);
int memory_file();
bool map_alias(Address address, std::size_t bytes, int file, std::uint64_t offset);
void unmap_alias(Address address, std::size_t bytes);

// Uses of a cuMemCreate handle by mappings (vmm.cpp).
void drop_physical_handle(Address handle);
// Chunks that are only in use by descriptors made of them, which may have been closed meanwhile.
void settle_chunks();
int handle_types_of(Address handle);

inline std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace fake_cuda
