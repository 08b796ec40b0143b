// The stack of a process that crashes (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL), shown before it ends as it would
// have.
//
// Our mpiexec is asked to show it, which has a debugger's view; elsewhere the process writes the frames itself. A
// signal that the program handles, or ignores, is left to it, and so is one that it handles later: its handler replaces
// ours. Threads: from bring-up and take-down of the library only.
#pragma once

namespace hr::bind::crash {

void watch() noexcept;
void unwatch() noexcept;

}  // namespace hr::bind::crash
