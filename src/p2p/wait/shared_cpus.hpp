// Shared CPUs: determines whether the processes of this node that are confined to the same CPUs as this one outnumber
// those CPUs.
//
// A program, a batch system or a wrong option may confine several ranks to one core, before or after initialisation. A
// process can query only its own CPUs, so each one publishes them through the transport of the node, and checks again
// from time to time while it waits. Sets that only overlap are not compared. Owner: progress.hpp holds the result.
// Threads: library lock, except for outnumbered(); the CPUs are those of the calling thread.
#pragma once

namespace hr::p2p::shared_cpus {

struct Found {
  bool outnumbered = false;
  double until = 0;
};

// Returns the result of the last look. Any thread may call it.
[[nodiscard]] bool outnumbered() noexcept;

// Looks again if the last result has expired, and returns the result. Calls of the system are rare: once in many
// milliseconds of waiting.
bool look() noexcept;

}  // namespace hr::p2p::shared_cpus
