// Processes of other jobs in p2p: they come while messages are under way, and go (MPI 5.0 chapter 11).
//
// What is kept by process grows with boot::processes(). A process that has been parted from is as one that was never
// talked to; it may be met again. Threads: library lock.
#pragma once

#include <span>
#include <string>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// What processes on other hosts must know to reach this process, beside boot::own_contact(): see transport::describe().
Status describe(bool make, std::string* address);
// See transport::meet(). All of the meeting's processes are in boot::processes().
Status meet(const transport::Meeting& meeting);
// Nothing is under way with them, and nobody waits for them.
void part(std::span<const int> procs);

}  // namespace hr::p2p
