// Oversubscription: detects competition for this thread's core from how the thread was scheduled.
//
// A thread that lost its core without having slept gave way to another: it was preempted, or its sched_yield() let
// another thread run. The system counts both (getrusage: involuntary switches). The length of a yield shows which kind
// of thread got the core. Waiting MPI processes and threads return the core immediately: yielding to such waiters is
// the fastest way to receive their messages. A program that computes keeps the core until the system preempts it,
// milliseconds later (some kernels also end the time slice of a thread that yields). If there is such a load, a waiting
// thread should sleep. A sleeping thread keeps its scheduling credit, and gets the core as soon as a message arrives. A
// result is valid for a while, as loads and CPU assignments change.
//
// Owner: progress.hpp holds the result, one per process, as most processes wait in one thread. Threads: library lock;
// yield_core() and short_sleep() let other threads take it meanwhile.
#pragma once

namespace hr::p2p::oversubscription {

enum class Kind { kNone, kWaitingPeers, kLoad };

struct Found {
  Kind kind = Kind::kNone;
  double until = 0;
  double last_interruption = -1;
};

// Returns the last result if it is still valid; measures nothing.
[[nodiscard]] Kind known() noexcept;
// Yields the core once, and updates the result. Returns after some time even if no other thread yields.
void yield_core() noexcept;
// Sleeps for some tens of microseconds; for waits that no message ends, while a load competes for the core.
void short_sleep() noexcept;

}  // namespace hr::p2p::oversubscription
