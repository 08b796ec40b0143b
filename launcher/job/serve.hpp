// `mpiexec --serve FD`: an mpiexec for a process that was started without one (boot/own_launcher.hpp). Started by the
// library, never by hand.
//
// It forks a daemon, which serves PMI-1 on descriptor FD, starts processes on request, and ends when its client and all
// processes that it has started have ended. If the client ends without having finalized, these processes are also
// ended.
#pragma once

namespace hr::launcher {

int serve(const char* descriptor);

}  // namespace hr::launcher
