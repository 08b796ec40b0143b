// Watch: detects loads and stores by the CPU to memory that the program must not touch, or that other processes access.
// It watches the first byte of this process's part of a window, and of buffers that operations write.
//
// The CPU's four debug registers report the accesses (perf_event_open): two are for a window, the others for buffers.
// If the system does not grant them, or a debugger is attached to the process, nothing is watched. Accesses by this
// library within a call do not count, nor do loads by the C library, whose string functions read more than requested.
// Each thread is watched only for the operations that it has started. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>
#include <vector>

#include "check/ranges.hpp"

namespace hr::rma {
class Window;
}

namespace hr::check {

// Watch memory until unwatch_window() or unwatch_buffer(). Do nothing if no register is free.
void watch_window(rma::Window& window);
void watch_buffer(const void* request, const Range& memory);
void unwatch_window(std::uint32_t context);
void unwatch_buffer(const void* request);

struct Seen {
  std::uint32_t context = 0;      // context of a window; 0: the memory is a buffer
  const void* request = nullptr;  // request of the operation that uses a buffer
  const void* address = nullptr;  // address of the instruction after the access
  Range memory{};
  bool stored = false;  // windows: true for a store
};
// Returns the accesses seen since the last call.
std::vector<Seen> take_seen();

// Called at the start and end of each MPI call of this thread.
void pause_watching() noexcept;
void resume_watching() noexcept;

}  // namespace hr::check
