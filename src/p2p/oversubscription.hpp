// Oversubscription: competition for the core of this thread, as far as the thread can tell from how it was scheduled.
//
// A thread that lost its core without having slept gave way to another: it was preempted, or another thread accepted
// its sched_yield(). The system counts both (getrusage: involuntary switches). The length of a yield
// tells what the core went to. Waiting processes and threads of MPI give the core back at once: yielding to such
// waiters is the quickest way to the messages they have for us. A program that computes keeps the core until the system
// takes it, milliseconds later (some kernels also take the rest of its turn from a thread that yields): beside such a
// load, a waiting thread does better to sleep. A sleeper keeps its claim, and has the core as soon as a message comes.
// A result holds for a while; loads and places change.
//
// Owner: progress.hpp holds the result, for the process, since most wait in one thread. Threads: library lock;
// yield_core() and short_sleep() let other threads in meanwhile.
#pragma once

namespace hr::p2p::oversubscription {

enum class Kind { kNone, kWaitingPeers, kLoad };

struct Found {
  Kind kind = Kind::kNone;
  double until = 0;
  double last_interruption = -1;
};

// Returns the last result, if it still holds, without asking the system.
[[nodiscard]] Kind known() noexcept;
// Yields the core once, and learns from it. Comes back by itself after a time, without help from another thread.
void yield_core() noexcept;
// Sleeps for some tens of microseconds: for waits that no message ends, beside a load.
void short_sleep() noexcept;

}  // namespace hr::p2p::oversubscription
