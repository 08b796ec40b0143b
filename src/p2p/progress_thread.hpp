// Progress thread: progress while the program computes, and is not within MPI. Off unless asked for (knob
// progress_thread).
//
// The thread makes the same rounds of progress as a waiting call, under the library lock, which it takes only where
// it is free: a thread of the program that is within MPI makes progress itself and is never waited for. Where this
// process has a core to spare the thread looks all the time, and a message that arrives during a computation is
// handled at once. Where it has none the thread would take the core from the computation by looking: it sleeps
// instead until the doorbell rings, and does not even try while the program goes in and out of MPI.
// User-defined reduction functions of non-blocking collectives may run on it, as may everything else that progress
// does.
// Owner: process-wide, from start() to stop(). Threads: start() and stop() under the library lock.
#pragma once

#include "base/status.hpp"

namespace hr::p2p::progress_thread {

// Needs an enabled library lock. Nothing to do, and no thread, where no other process of the job can be heard of.
// Errors: MPI_ERR_OTHER when the system gives no thread.
Status start();
// It runs and looks all the time: what is left undone in a call is begun at once, and not in the program's time.
[[nodiscard]] bool is_watching() noexcept;
// Ends it and waits for that; may be called again.
void stop() noexcept;

}  // namespace hr::p2p::progress_thread
