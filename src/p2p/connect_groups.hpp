// Processes of other jobs in p2p: they may be connected and disconnected while messages are pending (MPI 5.0 chapter
// 11).
//
// Tables indexed by process grow with boot::processes(). A disconnected process is treated like one never connected; it
// may be connected again. Threads: library lock.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// *address: receives the address at which processes on other hosts reach this one, in addition to boot::own_address();
// see transport::describe().
Status describe(bool make, std::string* address);
// See transport::connect_groups(). boot::processes() already lists the processes of both groups.
Status connect_groups(const transport::PeerGroups& groups);
// Called once all processes of the two groups of that name have reported that they are connected. If one has ended
// since, operations with it fail.
void confirm(std::string_view groups);
// Called instead of confirm() if a process of either group failed to connect: closes the paths of connect_groups().
void abandon(std::string_view groups);
// Disconnects processes with which no operation is pending and for which no call waits.
void disconnect(std::span<const int> procs);

}  // namespace hr::p2p
