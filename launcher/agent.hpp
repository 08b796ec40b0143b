// `mpiexec --agent`: the part of a job on another host. Started by ssh or its like, never by hand.
//
// Standard input and output are the channel to whoever started it. It answers with its proof, gets the plan, starts the
// agents below and the ranks here, and passes messages. When the channel closes or falls silent it ends all it has
// started. Around it is a second process that does nothing but wait: should the agent be killed, it ends what is left
// and removes the shared-memory files.
#pragma once

namespace hr::launcher {

int run_agent();

}  // namespace hr::launcher
