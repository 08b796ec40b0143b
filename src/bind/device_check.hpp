// Device check: looks at run time for the mistakes with device memory, contexts and directives that docs/offload.md
// lists (HEADRACE_CHECK=device), and reports each once for each function.
//
// Notes, not errors, unless the CPU is about to touch device memory, which is an error of the call. The texts are in
// device_check.cpp. Threads: library lock; every thread has a call of its own.
#pragma once

#include <span>

#include "base/status.hpp"
#include "bind/checked_calls.hpp"

namespace hr::bind::device_check {

// Called once, before the library itself uses a device: looks at the program's use of devices so far. True: the knob
// asks for the check, and calls are to be checked from now on.
bool begin();

// Looks at a call that begins. Errors: MPI_ERR_ARG for an argument that must be host memory and is not. Does nothing if
// the check was not asked for.
Status check_arguments(const char* function, std::span<const Argument> arguments);

}  // namespace hr::bind::device_check
