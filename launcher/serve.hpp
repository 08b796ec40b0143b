// `mpiexec --serve FD`: an mpiexec for a process that was started without one (boot/own_launcher.hpp). Started by the
// library, never by hand.
//
// It leaves for a process of its own, which serves PMI-1 on that descriptor, starts what is asked for, and ends when
// its client and all that it has started have ended. A client that goes without a good-bye takes them along.
#pragma once

namespace hr::launcher {

int serve(const char* descriptor);

}  // namespace hr::launcher
