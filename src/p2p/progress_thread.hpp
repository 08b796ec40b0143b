// Progress thread: progress while the program computes, and is not within MPI. Off unless asked for (knob
// progress_thread).
//
// The thread makes the same rounds of progress as a waiting call, under the library lock, which it takes only where
// it is free and nobody waits for it: a thread of the program that is within MPI makes progress itself and is never
// waited for, except to tell the end of a long copy, which is made without the lock (shared_copy.hpp). Where this
// process has a core to spare the thread looks all the time, and a message that arrives during a computation is
// handled at once. Where it has none the thread would take the core from the computation by looking: it sleeps
// instead until the doorbell rings, and does not even try while the program goes in and out of MPI.
// User-defined reduction functions of non-blocking collectives may run on it, as may everything else that progress
// does.
// Calls that only ask (MPI_Test and its like) leave long work to a thread that watches: they take what rounds it has
// made for theirs (take_round()), deliver what has arrived where it has made none (progress.hpp,
// deliver_beside_thread()), and make a whole round where many calls in a row have found none (starved()). Owner:
// process-wide, from start() to stop(). Threads: start(), stop() and wake() under the library lock, the rest any.
#pragma once

#include "base/status.hpp"

namespace hr::p2p::progress_thread {

// Needs an enabled library lock. Nothing to do, and no thread, where no other process of the job can be heard of.
// Errors: MPI_ERR_OTHER when the system gives no thread.
Status start();
// It runs and looks all the time: what is left undone in a call is begun at once, and not in the program's time.
[[nodiscard]] bool is_watching() noexcept;
// True when it is awake and has made a round since the last such call of anybody: who asks need not make one.
[[nodiscard]] bool take_round() noexcept;
// So many calls in a row found no round to take that it may have no core, or be held up by who asks (from a callback).
[[nodiscard]] bool starved() noexcept;
// Nothing but on the thread itself: a round is made, as which a part of a long copy counts.
void count_round() noexcept;
// There is work of which no message tells it: ends the sleep of a thread that watches, which then watches on.
void wake() noexcept;
// Ends it and waits for that, with the lock given up meanwhile; may be called again.
void stop() noexcept;

}  // namespace hr::p2p::progress_thread
