// FailureWatch: hears from the launcher which processes have died, in a job that goes on without them.
//
// It looks at one word in memory (boot/failure_board.hpp) in every round of progress. To cost rounds of other jobs
// nothing, it takes its turn among the transports that make progress, as one that reaches no process.
// Owner: the engine. Threads: library lock.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// *out stays null if the death of a process ends the job.
Status make_failure_watch(std::unique_ptr<transport::Transport>* out);

}  // namespace hr::p2p
