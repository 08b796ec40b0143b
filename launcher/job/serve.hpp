// `mpiexec --serve FD`: an mpiexec for a process that was started without one (boot/own_launcher.hpp). Started by the
// library, never by hand.
//
// It forks a daemon, which serves PMI-1 on that descriptor, starts processes on request, and ends when its client and
// all that it has started have ended. If the client ends without having finalized, they are also ended.
#pragma once

namespace hr::launcher {

int serve(const char* descriptor);

}  // namespace hr::launcher
