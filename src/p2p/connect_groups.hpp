// Processes of other jobs in p2p: they come and go while messages are pending (MPI 5.0 chapter 11).
//
// Tables by process grow with boot::processes(). A process that has been disconnected is like one never talked to; it
// may connect again. Threads: library lock.
#pragma once

#include <span>
#include <string>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// *address: tells processes on other hosts how to reach this one, beside boot::own_address(); see
// transport::describe().
Status describe(bool make, std::string* address);
// See transport::connect_groups(). boot::processes() has the processes of both groups.
Status connect_groups(const transport::PeerGroups& groups);
// Disconnects processes with which nothing is pending and for which no call waits.
void disconnect(std::span<const int> procs);

}  // namespace hr::p2p
