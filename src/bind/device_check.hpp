// Device check: detects at run time (HEADRACE_CHECK=device) the mistakes with device memory, contexts and directives
// that docs/offload.md lists, and reports each once per function.
//
// Mistakes are reported as notes, not as errors, unless the CPU is about to touch device memory, which is an error of
// the call. Threads: library lock; the current call is thread-local.
#pragma once

#include <span>

#include "base/status.hpp"
#include "bind/checked_calls.hpp"

namespace hr::bind::device_check {

// Called once, before the library itself uses a device: checks the program's use of devices so far. True if the knob
// selects this check, so that calls must be checked from now on.
bool begin();

// Checks a call on entry. Errors: MPI_ERR_ARG for an argument that must be host memory and is not. Does nothing if
// the check is not selected.
Status check_arguments(const char* function, std::span<const Argument> arguments);

}  // namespace hr::bind::device_check
