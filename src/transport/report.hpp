// report(): the lines of HEADRACE_REPORT_TRANSPORTS, which say how messages go from one host to another, and why.
//
// Threads: library lock.
#pragma once

#include <string>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::transport {

// The first process of each host publishes the host's name for the report; called before the fence of the start.
Status announce_host(const Job& job);
// The first process of each host prints a line for the processes of its host, and a line for each later host, so that
// there is one line for each pair. `path_to` returns the transport that carries messages to a process; null: none.
// `why_network`: why the job uses its network transport.
void report(const Job& job, Transport* (*path_to)(int proc), const std::string& why_network);

}  // namespace hr::transport
