// Consensus: the surviving members of a communicator agree on an outcome, the same for all of them even if others fail
// meanwhile (consensus_member.hpp). Works on a revoked communicator, and with failed members.
//
// All members start the consensuses of one communicator in the same order; a number tells them apart. Messages that
// come before this process's start wait; outcomes are remembered for members that have lost their leader
// (rest_context()). Threads: library lock.
#pragma once

#include <memory>
#include <vector>

#include "comm/assemble.hpp"
#include "comm/communicator.hpp"
#include "p2p/task.hpp"

namespace hr::comm {

// Input and result of one consensus at this process. Memory: outlives the task.
struct Agreed {
  int flag = 0;              // in: this process's; out: the bitwise AND
  std::vector<int> failed;   // out: all processes that a member knew to have failed; now failed for this process, too
  bool acknowledged = true;  // out: all members had acknowledged all of these
};

// Starts at once. `participants` of `comm`; both outlive the task.
p2p::Task reach_consensus(Communicator& comm, const Participants& participants, Agreed* agreed);

// MPIX_Comm_agree, MPIX_Comm_iagree: *flag becomes the AND over all survivors. MPIX_ERR_PROC_FAILED, at all of them
// alike and with *flag set, if a member has failed and not all had acknowledged it.
Status agree_with_survivors(Communicator& comm, int* flag);
Status iagree_with_survivors(Communicator& comm, int* flag, p2p::Request** request);

// --- internal to comm/ ---
void begin_consensus();
void forget_consensus(std::uint32_t context) noexcept;

}  // namespace hr::comm
