// Shows the stack of a process that crashes (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL), before it ends in the usual
// way.
//
// The process asks Headrace's mpiexec to show the stack with a debugger; under other launchers it writes the frames
// itself. Signals that the program handles or ignores stay as they are. A handler that the program installs later
// replaces ours.
// Threads: called only during initialisation and finalisation of the library.
#pragma once

namespace hr::bind::crash {

void watch() noexcept;
void unwatch() noexcept;

}  // namespace hr::bind::crash
