// mem: classifies memory by its address, and copies between kinds. One interface, host and cuda behind it.
//
// The CUDA driver is opened with dlopen when the library comes up, at the latest at the first classification; if there
// is none, classification stays one predictable branch. Before the program itself has initialised CUDA every query
// answers "host" (no context is ever created for a classification). The driver's answers are kept for a driver epoch
// (base/driver_epoch.hpp), not longer: the program may free and allocate between two. Threads: library lock; every
// function may be called from any thread that holds it, also one that never touched CUDA. A copy runs in the context
// that owns the memory and leaves the caller's current context as it was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace hr::mem {

enum class Kind : std::uint8_t { kHost, kManaged, kDevice };

struct Location {
  Kind kind = Kind::kHost;
  bool pinned = false;       // host memory that the driver says it knows, from the first byte to the last
  bool managed = false;      // managed memory; kind is kDevice if a device touched it last
  bool chunks = false;       // VMM memory that other processes can be given, chunk by chunk
  std::int16_t device = -1;  // ordinal of the device that owns it; -1 for host memory unless pinned
  void* context = nullptr;   // CUcontext that the allocation, or the pinning, belongs to; null for pool and VMM memory
  std::uintptr_t base = 0;   // start of the allocation (0 for host; pinned: of that part); of VMM perhaps of one chunk
  std::size_t bytes = 0;     // its size
  std::uint64_t id = 0;      // driver's buffer id: differs when an address is reused; VMM: of the chunk asked about

  [[nodiscard]] bool is_host() const noexcept { return kind == Kind::kHost; }
  // True if only the device may touch it (managed memory may be read and written by the CPU).
  [[nodiscard]] bool is_device() const noexcept { return kind == Kind::kDevice; }
};

namespace detail {
extern bool maybe_cuda;  // as long as the process lives: false once the driver was looked for and not found
Status classify_slow(const void* address, std::size_t bytes, Location* location);
}  // namespace detail

// Finds out where `address` points to. A pointer the driver does not know is host memory, and so are `bytes` bytes of
// which it knows a part only: the driver refuses to copy them as one. Managed memory whose middle page (of `bytes` from
// there) a device touched last counts as the device's for now. The CPU may touch any other managed memory next, so work
// that the program has put on the legacy default stream before is complete on return.
// Errors: MPI_ERR_BUFFER for a device in an error state, naming the pointer and the CUDA error.
inline Status classify(const void* address, Location* location, std::size_t bytes = 0) {
  if (!detail::maybe_cuda) [[likely]] {
    *location = Location{};
    return kOk;
  }
  return detail::classify_slow(address, bytes, location);
}

// Does the same for an address that known_host() has been asked about: asks the driver.
Status classify_unknown(const void* address, Location* location, std::size_t bytes = 0);

// Has every buffer classified from now on, as if a driver had been found: for checks. After init().
inline void check_every_buffer() noexcept { detail::maybe_cuda = true; }

// False if nothing can be device memory: no driver was found.
inline bool maybe_device() noexcept { return detail::maybe_cuda; }

// True for host memory for certain, by its address alone (known_host.hpp): the heap, the stack, the program's data. No
// question to the driver; memory there that the program has registered with it is host memory all the same.
[[nodiscard]] bool known_host(const void* address) noexcept;

// MPI_ERR_BUFFER if [address, address + bytes) leaves the device allocation it starts in.
Status check_range(const void* address, std::size_t bytes, const Location& location);

// Copies between any kinds; the data is visible to every stream and to the CPU on return. Work that the caller
// put on the legacy default stream before is ordered before it.
Status copy(void* to, const Location& to_where, const void* from, const Location& from_where, std::size_t bytes);

// Memory that this process has given to others (mem/cuda/ipc.hpp): `begin` is called once there is some; from then on
// sweep_exports() looks for allocations that the program has freed. It calls `revoke` for each process that may have
// mapped one; that process then calls forget_peer_memory(). `refuse` is called when VMM memory of `process` cannot be
// mapped here; that process then calls hide_chunks_from().
void set_export_hooks(void (*begin)(), void (*revoke)(int process, std::uint64_t allocation),
                      void (*refuse)(int process));
void sweep_exports();
[[nodiscard]] bool any_exports() noexcept;
void forget_peer_memory(int process, std::uint64_t allocation) noexcept;
void hide_chunks_from(int process);

// Makes the state, and looks for the CUDA driver: opens its library, but calls nothing in it. Without this the first
// message would have to do it (0.2 ms).
void init();

// True if a usable CUDA driver and at least one device are present (may load the driver; creates no context).
bool cuda_available();

// Releases everything that the library holds on devices (streams, modules, staging) and ends the state. Called once
// from MPI_Finalize.
void shutdown();

}  // namespace hr::mem
