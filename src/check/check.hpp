// check: looks at every call of the program for mistakes (HEADRACE_CHECK=full), for bind/.
//
// What it finds is an error of the call, raised where errors of its communicator, window or file are, if the call is
// wrong in itself or together with others'; and a warning on standard error where the program may go on (leaks). Each
// finding names the call sites and says what to do. One file a finding, each with a record (finding.hpp).
//
// Off, nothing of it runs: entry points come here only where `ready` is false (bind/checked_calls.hpp).
// Errors: of the findings (finding.hpp); the text is the recorded detail. Threads: library lock, but for is_on().
#pragma once

#include "base/status.hpp"
#include "check/call.hpp"

namespace hr::check {

// After boot::init(): whether the knob asks for it. All processes of a job have the same answer.
bool begin();
// After p2p::init(); before p2p::finalize().
void start();
void end();

[[nodiscard]] bool is_on() noexcept;

// Before and after the call's body. `code`: what it returns.
Status enter(Call& call);
Status leave(Call& call, int code);

// An error that a call is about to raise: another one, if the checker knows what it comes from. With its detail.
Status explain(Status status);

// In MPI_Finalize, once the program's callbacks have run.
void at_finalize();

}  // namespace hr::check
