// Shows the stack of a process that crashes (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL), before it ends as it would have
// otherwise.
//
// Our mpiexec is asked to show it, with a debugger's view; under other launchers the process writes the frames itself.
// A signal that the program handles, or ignores, is left to it; if it handles one later, its handler replaces ours.
// Threads: only from bring-up and take-down of the library.
#pragma once

namespace hr::bind::crash {

void watch() noexcept;
void unwatch() noexcept;

}  // namespace hr::bind::crash
