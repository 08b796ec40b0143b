// check: checks every call of the program for mistakes if HEADRACE_CHECK=full. Used by bind/.
//
// A call that is wrong by itself or in combination with calls of other processes gets an error, raised on its
// communicator, window or file; a mistake with which the program can continue (leaks) is a warning on standard error.
// Each message names the call sites and a remedy. Each diagnostic has a file, with a record (diagnostic.hpp).
//
// If checking is off, none of this runs: entry points call the checker only if `ready` is kNotReady
// (bind/checked_calls.hpp). Errors: those of the diagnostics (diagnostic.hpp); the text is the recorded detail.
// Threads: library lock, except is_on().
#pragma once

#include "base/status.hpp"
#include "check/call.hpp"

namespace hr::check {

// Called after boot::init(); returns true if the knob selects checking. The result is the same in all processes of a
// job.
bool begin();
// Called after p2p::init(), and before p2p::finalize().
void start();
void end();

[[nodiscard]] bool is_on() noexcept;

// Called before and after the call's body. `code`: the body's return value.
Status enter(Call& call);
Status leave(Call& call, int code);

// Called with an error that a call is about to raise. If the checker knows the cause, returns a more precise error and
// sets its detail; otherwise returns `status`.
Status explain(Status status);

// Called in MPI_Finalize, once the program's callbacks have run.
void at_finalize();

}  // namespace hr::check
