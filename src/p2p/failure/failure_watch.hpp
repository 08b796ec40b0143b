// FailureWatch: learns from the launcher which processes have died, in a job that continues after failures.
//
// It reads one word in memory (boot/failure_board.hpp) in every round of progress. It is a transport that reaches no
// process, and is in the list of those that need progress only in such a job: so rounds cost other jobs nothing.
// Owner: the engine. Threads: library lock.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Creates the watch. *out stays null if the death of a process ends the job.
Status make_failure_watch(std::unique_ptr<transport::Transport>* out);

}  // namespace hr::p2p
