// mem: classifies memory by its address, and copies between kinds of memory. It is a single interface for host and
// device memory.
//
// The driver of the devices is opened when MPI is initialised, at the latest on the first classification; if there is
// none, classification is one predictable branch. Before the program itself has initialised its devices, every
// classification returns "host" (no context is ever created for a classification). The driver's answers are kept only
// for a driver epoch (base/driver_epoch.hpp): the program may free and allocate between two epochs. Threads: library
// lock unless stated; every function may be called from any thread that holds it, even one that has never used a
// device. A copy runs in the context that owns the memory and leaves the caller's current context as it was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace hr::mem {

enum class Kind : std::uint8_t { kHost, kManaged, kDevice };

struct Location {
  Kind kind = Kind::kHost;
  bool pinned = false;       // host memory registered with the driver, from the first byte to the last
  bool managed = false;      // managed memory; kind is kDevice if a device accessed it last
  bool chunks = false;       // VMM memory that can be exported in chunks
  bool independent = false;  // work on it is not ordered after the default stream (independent.hpp)
  std::int16_t device = -1;  // ordinal of the device that owns the memory; -1 for host memory unless pinned
  void* context = nullptr;   // context that the allocation, or the pinning, belongs to; null for pool and VMM memory
  std::uintptr_t base = 0;   // start of the allocation (0 for host; pinned: of that part; VMM: perhaps of a chunk)
  std::size_t bytes = 0;     // its size
  std::uint64_t id =
      0;  // driver's buffer id: it differs when an address is reused; VMM: the id of the chunk at that address

  // True for host memory, pinned or not; never for managed memory.
  [[nodiscard]] bool is_host() const noexcept { return kind == Kind::kHost; }
  // True if the library lets the device access the memory (the CPU may do so only if the memory is managed).
  [[nodiscard]] bool is_device() const noexcept { return kind == Kind::kDevice; }
};

namespace detail {
extern bool maybe_device;  // false, for the rest of the process, once a search has found no driver
Status classify_slow(const void* address, std::size_t bytes, Location* location);
}  // namespace detail

// Determines the kind of the memory at `address`. Memory that the driver does not know is host memory. Host memory of
// which the driver knows only a part (of the `bytes` bytes there) counts as unknown to it, not pinned, as it refuses to
// copy the bytes in one operation. Managed memory whose middle page (of the `bytes` bytes) was last accessed by a
// device counts as device memory for now. The CPU may access any other managed memory next, so for such memory earlier
// work of the program on the legacy default stream is complete on return. Errors: MPI_ERR_BUFFER, naming the pointer
// and the driver's error, if a device is in an error state.
inline Status classify(const void* address, Location* location, std::size_t bytes = 0) {
  if (!detail::maybe_device) [[likely]] {
    *location = Location{};
    return kOk;
  }
  return detail::classify_slow(address, bytes, location);
}

// classify() for an address for which known_host() is false: queries the driver.
Status classify_unknown(const void* address, Location* location, std::size_t bytes = 0);

// Makes the library classify every buffer from now on, as if a driver had been found: for checks. Call after init().
inline void check_every_buffer() noexcept { detail::maybe_device = true; }

// False if no driver was found, so that nothing can be device memory.
inline bool maybe_device() noexcept { return detail::maybe_device; }

// True if the address alone shows that it is host memory (known_host.hpp): the heap, the stack, the program's data.
// Does not query the driver; memory there that the program has registered with the driver is still host memory.
[[nodiscard]] bool known_host(const void* address) noexcept;

// True if the driver, if there is one, does not know the address, which is then host memory. Queries the driver unless
// known_host() is true. Call after init(). Threads: any, without the library lock.
[[nodiscard]] bool unknown_to_driver(const void* address) noexcept;

// Returns MPI_ERR_BUFFER if [address, address + bytes) extends beyond the device allocation in which it starts.
Status check_range(const void* address, std::size_t bytes, const Location& location);

// Copies between any kinds of memory; the data is visible to every stream and to the CPU on return. Ordered after
// earlier work of the caller on the legacy default stream.
Status copy(void* to, const Location& to_where, const void* from, const Location& from_where, std::size_t bytes);

// Device memory that a process cannot map: that of VMM (chunks) alone, or all.
enum class Unmappable : std::uint8_t { kChunks, kAll };

// Sets functions that are called about exported memory (mem/device/ipc.hpp). `begin`: on the first export; from then
// on, sweep_exports() must be called to look for allocations that the program has freed. `revoke`: for each process
// that may have mapped such an allocation; that process then calls forget_peer_memory(). `refuse`: when memory of
// `process` cannot be mapped here; that process then calls hide_memory_from().
void set_export_hooks(void (*begin)(), void (*revoke)(int process, std::uint64_t allocation),
                      void (*refuse)(int process, Unmappable what));
void sweep_exports();
[[nodiscard]] bool any_exports() noexcept;
void forget_peer_memory(int process, std::uint64_t allocation) noexcept;
void hide_memory_from(int process, Unmappable what);

// Creates the state and opens the device driver's library, if there is one, without calling any of its functions.
// Otherwise the first message would have to do this.
void init();

// True if a usable driver and at least one device are present (may load the driver; creates no context).
bool device_available();
// device_available() for one maker, identified by its MPIX_GPU_SUPPORT_* number.
bool device_available(int support);

// Releases everything that the library holds on devices (streams, modules, staging) and ends the state. Called once
// from MPI_Finalize.
void shutdown();

}  // namespace hr::mem
