// Consensus: the surviving members of a communicator agree on an outcome, which is the same for all of them even if
// others fail meanwhile (consensus_member.hpp). Works on a revoked communicator, and with failed members.
//
// All members start the consensus operations of a communicator in the same order; this order numbers them. Messages
// that arrive before this process has started the operation are kept; outcomes are remembered for members whose leader
// has failed (rest_context()). Threads: library lock.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/create/assemble.hpp"
#include "p2p/task.hpp"

namespace hr::comm {

// Input and result of one consensus on this process. Must outlive the task.
struct Agreed {
  int flag = 0;              // in: this process's flag; out: the bitwise AND of all
  std::vector<int> failed;   // out: processes that any member knew to have failed; known to this process by now
  bool acknowledged = true;  // out: true if all members had acknowledged all of these failures
};

// Starts immediately. `participants`: the participants of `comm`. Both must outlive the task.
p2p::Task reach_consensus(Communicator& comm, const Participants& participants, Agreed* agreed);

// MPIX_Comm_agree, MPIX_Comm_iagree: *flag receives the bitwise AND over all survivors. Errors: MPIX_ERR_PROC_FAILED,
// on all survivors and with *flag set, if a member has failed and not all survivors had acknowledged it.
Status agree_with_survivors(Communicator& comm, int* flag);
Status iagree_with_survivors(Communicator& comm, int* flag, p2p::Request** request);

// --- Internal to comm/ ---
void begin_consensus();
void forget_consensus(std::uint32_t context) noexcept;

}  // namespace hr::comm
