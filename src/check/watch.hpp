// Watch: loads and stores by the CPU of memory that the program should leave alone, or that others access: the first
// byte of a window's own part and of buffers that operations write.
//
// The CPU's debug registers tell (perf_event_open), of which there are four: two for a window, the others for buffers.
// Where the system does not give them, or a debugger has the process, nothing is watched. What the library itself does
// within a call does not count, nor do loads by the C library, whose string functions read more than they are asked
// to. Each thread is watched for what it has begun. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>
#include <vector>

#include "check/runs.hpp"

namespace hr::rma {
class Window;
}

namespace hr::check {

// Until unwatch(): the window's context, an operation's request. Where no register is left nothing happens.
void watch_window(rma::Window& window);
void watch_buffer(const void* request, const Run& memory);
void unwatch_window(std::uint32_t context);
void unwatch_buffer(const void* request);

struct Seen {
  std::uint32_t context = 0;      // of a window; 0: a buffer
  const void* request = nullptr;  // of a buffer
  const void* address = nullptr;  // of the instruction behind the one that it was
  Run memory{};
  bool stored = false;  // of windows: it was a store
};
// What has been seen since the last time.
std::vector<Seen> take_seen();

// Around the calls of MPI of this thread.
void pause_watching() noexcept;
void resume_watching() noexcept;

}  // namespace hr::check
