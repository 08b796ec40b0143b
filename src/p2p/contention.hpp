// Contention: who else wants the core of this thread, as far as can be told from how it was treated.
//
// A thread that has been away from its core without having slept yielded to somebody: by an interrupted turn, or by a
// sched_yield() that was taken up. The system counts both (getrusage: involuntary switches). How long a yield lasted
// tells whom it was made for. Processes and threads of MPI that wait give the core back at once: they are waiters, and
// to yield to them is the quickest way to what they have for us. A program that computes keeps the core until the
// system takes it, milliseconds later (some kernels also take the rest of its turn from who yields): with such a load
// about, who waits does better to sleep. A sleeper keeps its claim, and has the core as soon as a message comes.
// What was found holds for a while; loads and places change.
//
// Owner: progress.hpp holds what was found, for the process, since most wait in one thread. Threads: library lock;
// yield_core() and short_sleep() let other threads in meanwhile.
#pragma once

namespace hr::p2p::contention {

enum class Kind { kNone, kWaitingPeers, kLoad };

struct Found {
  Kind kind = Kind::kNone;
  double until = 0;
  double last_interruption = -1;
};

// As far as is known now, without asking anybody.
[[nodiscard]] Kind known() noexcept;
// Yields the core once, and learns from it. Needs no other thread's help to come back, only time.
void yield_core() noexcept;
// Sleeps for some tens of microseconds: for waits that no message ends, beside a load.
void short_sleep() noexcept;

}  // namespace hr::p2p::contention
