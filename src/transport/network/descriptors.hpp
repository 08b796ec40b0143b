// The system's table of this process's open files.
#pragma once

namespace hr::transport::network {

// Enlarges the table for a flood of connections. In a process with several threads, Linux lets a thread wait whenever
// its new descriptor makes the table grow, until every CPU has passed through the scheduler: for milliseconds, and
// beside a load for many seconds. A thread that accepts or makes a connection would wait with the library lock held,
// and a stranger only has to connect for that. While a process has one thread, its table grows without a wait: call
// this before a network's library starts threads. Threads: any.
void enlarge_descriptor_table() noexcept;

}  // namespace hr::transport::network
