// check: looks at every call of the program for mistakes (HEADRACE_CHECK=full), for bind/.
//
// A diagnostic is an error of the call, raised on its communicator, window or file, if the call is wrong in itself or
// together with others'; and a warning on standard error if the program may go on (leaks). Each diagnostic names the
// call sites and says what to do. One file for each diagnostic, with a record (diagnostic.hpp).
//
// Off, none of it runs: entry points come here only if `ready` is false (bind/checked_calls.hpp). Errors: of the
// diagnostics (diagnostic.hpp); the text is the recorded detail. Threads: library lock, except is_on().
#pragma once

#include "base/status.hpp"
#include "check/call.hpp"

namespace hr::check {

// Called after boot::init(); returns true if the knob asks for checking. All processes of a job return the same.
bool begin();
// Called after p2p::init(), and before p2p::finalize().
void start();
void end();

[[nodiscard]] bool is_on() noexcept;

// Called before and after the call's body. `code`: its return value.
Status enter(Call& call);
Status leave(Call& call, int code);

// Takes an error that a call is about to raise; returns another one, if the checker knows its cause. Sets its detail.
Status explain(Status status);

// Called in MPI_Finalize, once the program's callbacks have run.
void at_finalize();

}  // namespace hr::check
