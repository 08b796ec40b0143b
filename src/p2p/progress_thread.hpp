// Progress thread: makes progress while the program computes outside MPI. Off unless enabled (knob progress_thread).
//
// The thread makes the same rounds of progress as a waiting call, under the library lock. It takes the lock only if the
// lock is free and no thread waits for it, because a thread of the program that is within MPI makes progress itself. It
// waits for the lock only to report the end of a long copy, which runs without the lock (shared_copy.hpp). If this
// process has a core to spare, the thread watches: it polls all the time, and a message that arrives during a
// computation is handled immediately. If there is no such core, polling would take the core from the computation. The
// thread then sleeps until the doorbell rings, and makes no rounds while the program calls MPI frequently. User-defined
// reduction functions of non-blocking collectives may run on it, like everything else that progress does. Calls that
// only test (MPI_Test and the like) leave long work to a watching thread: they count its rounds as theirs
// (take_round()), deliver arrived messages if it has made none (progress.hpp, deliver_beside_thread()), and make a
// whole round if many calls in a row have found none (starved()). Owner: process-wide, from start() to stop(). Threads:
// start(), stop() and wake() under the library lock, the rest any.
#pragma once

#include <cstdint>

#include "base/status.hpp"

namespace hr::p2p::progress_thread {

// Starts the thread; requires an enabled library lock. Does nothing if no other process can send messages to this one.
// Errors: MPI_ERR_OTHER if the system cannot create a thread.
Status start();
// Starts the thread unconditionally, unless it is running, for work that a device announces (enqueue/). If this process
// may use only one core although its host has cores to spare, the thread may use all of them.
Status start_for_streams();

// Attention that the thread pays to words that a device writes, for which no doorbell rings: none; short sleeps between
// polls; no sleep at all.
enum class Attention : std::uint8_t { kNone, kPolling, kAwake };
// May be called in every round; wakes the thread if it must poll more often.
void attend(Attention attention) noexcept;
// True if the thread is running and polls all the time, so that work which a call leaves undone is started immediately,
// outside the program's time.
[[nodiscard]] bool is_watching() noexcept;
// True if the thread is awake and has made a round since any thread last called this function: the caller need not make
// one.
[[nodiscard]] bool take_round() noexcept;
// True if the number of successive calls that found no round to take is so large that the thread may have no core, or
// may be blocked by the caller (from a callback).
[[nodiscard]] bool starved() noexcept;
// Counts a round of the thread, or a part of a long copy, which counts as one. Does nothing if another thread calls it.
void count_round() noexcept;
// Wakes a thread that watches and sleeps, or rests, for work that no message announces; it then continues to poll.
void wake() noexcept;

// Work that has a hook for as long as it exists, because no doorbell rings for it. If it is all that needs polling, the
// thread rests for a part of the time for which nothing has moved. Threads: library lock.
struct SeldomPolled {
  bool (*round)() = nullptr;      // makes a round, which the hook may omit; true if something moved
  unsigned (*moves)() = nullptr;  // returns a number that changes if any thread moves something
};
// Sets this work, of which there is one; an empty one if it has ended. Threads: library lock.
void poll_seldom(const SeldomPolled& work) noexcept;
// True if the thread rests. A call that begins such work then calls wake(). A rest that begins at the same moment is
// not ended, but it is short. Threads: any.
[[nodiscard]] bool is_resting() noexcept;
// Ends the thread, and waits for its end with the lock released; may be called repeatedly.
void stop() noexcept;

}  // namespace hr::p2p::progress_thread
