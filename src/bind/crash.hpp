// Shows the stack of a process that crashes (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL), before it ends in the usual
// way.
//
// The process asks Headrace's mpiexec to show the stack with a debugger; under other launchers it writes the frames
// itself. A signal that the program handles or ignores is left to it; a handler that it installs later replaces ours.
// Threads: called only during initialisation and finalisation of the library.
#pragma once

namespace hr::bind::crash {

void watch() noexcept;
void unwatch() noexcept;

}  // namespace hr::bind::crash
