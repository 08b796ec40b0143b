// Collectives: checks that the members of a communicator, window or file call the same collective functions
// in the same order, with arguments that agree (MPI 5.0 section 6.14).
//
// Each member numbers the collective calls of a communicator and sends a Record of each to the first member, which
// compares the records and replies to the members that wait. Blocking calls wait before they are executed, so that
// members that disagree get an error, instead of waiting for each other or receiving wrong data. (A correct program
// works even if every collective synchronises.) Non-blocking calls do not wait: the comparing member reports their
// mistakes. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>

#include "check/call.hpp"
#include "check/call_site.hpp"
#include "check/signature.hpp"

namespace hr::check {

// A collective call of one member; in messages, followed by its Signatures.
struct Record {
  std::uint64_t sequence = 0;  // number of this call among the collective calls on the communicator
  std::int32_t rank = 0;
  std::int32_t size = 0;  // number of members
  std::int32_t root = 0;
  std::int32_t waits = 0;       // nonzero: the member waits for the outcome
  std::uint64_t operation = 0;  // reductions: the operation's handle, or 1 if it is user-defined; 0: none
  std::int64_t agreed = 0;      // a number that must be the same on all members
  std::int32_t has_same = 0;    // nonzero: `same` is valid
  std::int32_t differs = 0;     // nonzero: this member's send and receive signatures differ
  Signature same;               // signature that must be the same on all members
  std::uint32_t sends = 0;      // number of Signatures that follow: one per peer, or one for the root
  std::uint32_t expects = 0;
  char agreed_name[24] = {};
  char data[128] = {};  // "4 x MPI_INT"
  RemoteCallSite call_site;
};

// A collective that this process is waiting to begin; collective_wait() returns null if there is none.
struct CollectiveWait {
  std::uint32_t context;
  std::uint64_t sequence;
};
const CollectiveWait* collective_wait();

// Returns the sequence number on its communicator, from 1, of the non-blocking collective that the calling thread's
// current call begins; 0: none.
std::uint64_t begun_collective() noexcept;

// Returns the mistake in a collective operation that does not wait, if it is known yet. `context`, `sequence`: of its
// record.
Status outcome_of(std::uint32_t context, std::uint64_t sequence);

// Replaces the error of a call that completes non-blocking collectives with the mistake that caused it,
// if there is one. Waits briefly for the comparing member.
Status explain_collective(Status status);

}  // namespace hr::check
