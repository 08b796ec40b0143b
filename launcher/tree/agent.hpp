// `mpiexec --agent`: the part of a job on another host. Started by ssh or the like, never by hand.
//
// Standard input and output are the channel to the process that started it. It answers with its handshake proof
// (handshake.hpp), receives the plan, starts the agents below and the ranks here, and forwards messages. When the
// channel closes or falls silent, the agent ends everything that it has started. Its supervisor (supervisor.hpp) only
// waits: if the agent is killed, the supervisor ends the remaining processes and removes the shared-memory files.
#pragma once

namespace hr::launcher {

int run_agent();

}  // namespace hr::launcher
