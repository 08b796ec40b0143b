// Collectives: the members of a communicator must call the same functions in the same order, with arguments that agree
// (MPI 5.0 section 6.14); so must those of windows and files.
//
// Each member numbers the collective calls of a communicator and sends a Record of each to the first member, which
// compares them and answers those that wait. Blocking calls wait before they are executed, so that members that do not
// agree get an error, and neither wait for each other nor take each other's data. (A program may not rely on a
// collective that does not synchronize.) Non-blocking calls do not wait: the comparing member reports their mistakes.
// Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>

#include "check/call.hpp"
#include "check/call_site.hpp"
#include "check/signature.hpp"

namespace hr::check {

// Call of one member; in messages, followed by its Signatures.
struct Record {
  std::uint64_t sequence = 0;  // among the collective calls on its communicator
  std::int32_t rank = 0;
  std::int32_t size = 0;  // members
  std::int32_t root = 0;
  std::int32_t waits = 0;       // nonzero: it waits for the outcome
  std::uint64_t operation = 0;  // reductions: the handle, 1 for the program's own; 0: none
  std::int64_t agreed = 0;      // a number that must be equal on all members
  std::int32_t has_same = 0;    // `same` is there
  std::int32_t differs = 0;     // this member's send and receive signatures differ
  Signature same;               // must be equal on all members
  std::uint32_t sends = 0;      // Signatures that follow: one for each peer; 1: for the root only
  std::uint32_t expects = 0;
  char agreed_name[24] = {};
  char data[128] = {};  // "4 x MPI_INT"
  RemoteCallSite call_site;
};

// Collective that this process waits to begin; collective_wait() returns null if there is none.
struct CollectiveWait {
  std::uint32_t context;
  std::uint64_t sequence;
};
const CollectiveWait* collective_wait();

// Returns the number of the non-blocking collective that the calling thread's call begins, among the communicator's,
// from 1; 0: none.
std::uint64_t begun_collective() noexcept;

// Explains the error of a call that completes non-blocking collectives: by a mistake of their members, if that is the
// cause. Waits for the comparing member, but not for long.
Status explain_collective(Status status);

}  // namespace hr::check
