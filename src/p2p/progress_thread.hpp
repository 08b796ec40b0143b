// Progress thread: makes progress while the program computes outside MPI. Off unless asked for (knob progress_thread).
//
// The thread makes the same rounds of progress as a waiting call, under the library lock, which it takes only if the
// lock is free and no thread waits for it: a thread of the program that is within MPI makes progress itself and is
// never waited for, except to tell the end of a long copy, which is made without the lock (shared_copy.hpp). If this
// process has a core to spare, the thread looks all the time, and a message that arrives during a computation is
// handled at once. If it has none, the thread would take the core from the computation by looking: it sleeps instead
// until the doorbell rings, and does not even try while the program goes in and out of MPI. User-defined reduction
// functions of non-blocking collectives may run on it, like everything else that progress does. Calls that only ask
// (MPI_Test and its like) leave long work to a thread that watches: they count its rounds as theirs (take_round()),
// deliver what has arrived if it has made none (progress.hpp, deliver_beside_thread()), and make a whole round if many
// calls in a row have found none (starved()). Owner: process-wide, from start() to stop(). Threads: start(), stop() and
// wake() under the library lock, the rest any.
#pragma once

#include "base/status.hpp"

namespace hr::p2p::progress_thread {

// Starts the thread; needs an enabled library lock. Does nothing if no other process of the job can be heard of.
// Errors: MPI_ERR_OTHER if the system gives no thread.
Status start();
// True if it runs and looks all the time: work left undone in a call is begun at once, and not in the program's time.
[[nodiscard]] bool is_watching() noexcept;
// True if it is awake and has made a round since the last such call of any thread: the caller need not make one.
[[nodiscard]] bool take_round() noexcept;
// True if so many calls in a row found no round to take that it may have no core, or be held up by the caller (from a
// callback).
[[nodiscard]] bool starved() noexcept;
// Counts a round, or a part of a long copy, which counts as one. Does nothing on other threads.
void count_round() noexcept;
// Announces work that no message tells of: ends the sleep of a thread that watches, which then watches on.
void wake() noexcept;
// Ends the thread and waits for that, with the lock given up meanwhile; may be called again.
void stop() noexcept;

}  // namespace hr::p2p::progress_thread
