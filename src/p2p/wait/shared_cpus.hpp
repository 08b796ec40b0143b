// Shared CPUs: determines whether the processes on this node outnumber the CPUs that they may use together, or those
// confined to the same CPUs as this one outnumber these.
//
// A program, a batch system or a wrong option may confine several ranks to one core, before or after initialisation. A
// process can query only its own CPUs, so each process publishes them through the intranode transport, and checks again
// from time to time while it waits. Owner: progress.hpp holds the result. Threads: library lock, except for
// outnumbered(); the CPUs are those of the calling thread.
#pragma once

#include <cstdint>

namespace hr::p2p::shared_cpus {

struct Found {
  bool outnumbered = false;
  bool all_reported = false;
  double until = 0;
  std::uint64_t all = 0;  // Transport::CpuSharers::all at the last count of the CPUs of all
  bool crowded = false;   // the result of that count
};

// Returns the result of the last check. Any thread may call it.
[[nodiscard]] bool outnumbered() noexcept;

// Checks again if the last result has expired, and returns the result. System calls are rare: once in many
// milliseconds of waiting, after all processes have started.
bool look() noexcept;
// Checks at once if some processes had not reported their CPUs, and returns the result: for decisions that stay. A
// process has reported once it communicates.
bool look_again() noexcept;

}  // namespace hr::p2p::shared_cpus
