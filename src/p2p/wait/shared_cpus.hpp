// Shared CPUs: determines whether the processes on this node that are confined to the same CPUs as this one outnumber
// those CPUs.
//
// A program, a batch system or a wrong option may confine several ranks to one core, before or after initialisation. A
// process can query only its own CPUs, so each process publishes them through the intranode transport, and checks again
// from time to time while it waits. Sets that only overlap are not compared. Owner: progress.hpp holds the result.
// Threads: library lock, except for outnumbered(); the CPUs are those of the calling thread.
#pragma once

namespace hr::p2p::shared_cpus {

struct Found {
  bool outnumbered = false;
  double until = 0;
};

// Returns the result of the last check. Any thread may call it.
[[nodiscard]] bool outnumbered() noexcept;

// Checks again if the last result has expired, and returns the result. System calls are rare: once in many
// milliseconds of waiting, after all processes have started.
bool look() noexcept;

}  // namespace hr::p2p::shared_cpus
