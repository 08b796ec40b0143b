// Watch: loads and stores by the CPU of memory that the program should leave alone, or that others access: the first
// byte of a window's own part and of buffers that operations write.
//
// The CPU's four debug registers report them (perf_event_open): two are for a window, the others for buffers. If the
// system does not grant them, or a debugger is attached to the process, nothing is watched. Accesses by this
// library within a call do not count, nor do loads by the C library, whose string functions read more than requested.
// Each thread is watched for operations that it has begun. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>
#include <vector>

#include "check/ranges.hpp"

namespace hr::rma {
class Window;
}

namespace hr::check {

// Last until unwatch(): the window's context, an operation's request. Without a free register nothing happens.
void watch_window(rma::Window& window);
void watch_buffer(const void* request, const Range& memory);
void unwatch_window(std::uint32_t context);
void unwatch_buffer(const void* request);

struct Seen {
  std::uint32_t context = 0;      // of a window; 0: a buffer
  const void* request = nullptr;  // of a buffer
  const void* address = nullptr;  // of the instruction after the access
  Range memory{};
  bool stored = false;  // of windows: it was a store
};
// Returns accesses seen since the last time.
std::vector<Seen> take_seen();

// Enclose the calls of MPI of this thread.
void pause_watching() noexcept;
void resume_watching() noexcept;

}  // namespace hr::check
