// Collectives: the members of a communicator must call the same functions in the same order, with arguments that agree
// (MPI 5.0 section 6.14); so must those of windows and files.
//
// Each member numbers the collective calls of a communicator and tells the first member of each (a Record). That one
// compares, and answers those who wait. Blocking calls wait before they are carried out, so that members that do not
// agree get an error, and neither wait for each other nor take each other's data. (A program may not rely on a
// collective that does not synchronize.) Non-blocking calls do not wait: what does not agree is told by who compares.
// Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>

#include "check/call.hpp"
#include "check/signature.hpp"
#include "check/site.hpp"

namespace hr::check {

// What one member calls; in messages, before its Signatures.
struct Record {
  std::uint64_t sequence = 0;  // among the collective calls on its communicator
  std::int32_t rank = 0;
  std::int32_t size = 0;  // members
  std::int32_t root = 0;
  std::int32_t waits = 0;       // for the verdict
  std::uint64_t operation = 0;  // reductions: the handle, 1 for the program's own; 0: none
  std::int64_t agreed = 0;      // a number that must be equal on all members
  std::int32_t has_same = 0;    // `same` is there
  std::int32_t differs = 0;     // what this member sends is not what it itself receives
  Signature same;               // must be equal on all members
  std::uint32_t sends = 0;      // Signatures that follow: one a peer; 1: the one to the root, or from it
  std::uint32_t expects = 0;
  char agreed_name[24] = {};
  char data[128] = {};  // "4 x MPI_INT"
  RemoteSite site;
};

// The collective that this process waits to begin; null: none.
struct CollectiveWait {
  std::uint32_t context;
  std::uint64_t sequence;
};
const CollectiveWait* collective_wait();

// The non-blocking one that the calling thread's call begins: its number among the communicator's, from 1; 0: none.
std::uint64_t begun_collective() noexcept;

// Of a call that is about to fail, which completes non-blocking collectives: the mistake of their members, if that is
// why. Waits for whoever compares, but not for long.
Status explain_collective(Status status);

}  // namespace hr::check
