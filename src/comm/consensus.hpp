// Consensus: the members of a communicator that are left agree on an outcome, the same for all of them whoever is lost
// meanwhile (consensus_member.hpp). Works on a revoked communicator, and with failed members.
//
// All members start the consensuses of one communicator in the same order; a number tells them apart. What comes before
// the own start waits; what was decided is remembered for those who have lost their leader (rest_context()).
// Threads: library lock.
#pragma once

#include <memory>
#include <vector>

#include "comm/assemble.hpp"
#include "comm/communicator.hpp"
#include "p2p/task.hpp"

namespace hr::comm {

// What this process says in, and gets from, one consensus. Memory: outlives the task.
struct Agreed {
  int flag = 0;             // in: its own; out: the bitwise AND
  std::vector<int> failed;  // out: all processes that anybody knew to have failed; this process holds them for lost now
  bool acknowledged = true;  // out: everybody had acknowledged all of these
};

// Starts at once. `participants` of `comm`; both outlive the task.
p2p::Task reach_consensus(Communicator& comm, const Participants& participants, Agreed* agreed);

// MPIX_Comm_agree, MPIX_Comm_iagree: *flag becomes the AND over all who are left. MPIX_ERR_PROC_FAILED, at all of them
// alike and with *flag set, where a member has failed and not everybody had acknowledged it.
Status agree_with_survivors(Communicator& comm, int* flag);
Status iagree_with_survivors(Communicator& comm, int* flag, p2p::Request** request);

// --- internal to comm/ ---
void begin_consensus();
void forget_consensus(std::uint32_t context) noexcept;

}  // namespace hr::comm
