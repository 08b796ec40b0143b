// Describes the parts of a collective call that must agree with the other members' (collectives.hpp). Internal to
// check/.
#pragma once

#include <vector>

#include "check/call.hpp"
#include "check/collectives.hpp"
#include "coll/call.hpp"

namespace hr::check {

struct Described {
  Record record;
  std::vector<Signature> sends;    // sent data: one per peer, or one for the root
  std::vector<Signature> expects;  // expected data: one per peer, or one for the root
};

// True for an operation of MPI 5.0 chapter 6 or section 8.6, in any form; coll/ executes these operations.
[[nodiscard]] bool is_collective_operation(const Call& call);
Described describe_operation(const coll::Call& operation);

// A collective function that coll/ does not execute.
struct CollectiveFunction {
  const char* name;
  ObjectKind kind;
  const char* argument;     // the communicator, window or file
  const char* agreed = "";  // an argument that must be the same on all members
  bool waits = true;
  bool ends = false;  // true if the call frees the communicator, window or file
  // False for MPI_Comm_free, which need not wait for the others and ends the communicator's sequence.
  bool compares = true;
};
const CollectiveFunction* find_collective(const Call& call);
Described describe_function(const Call& call, const CollectiveFunction& function);

}  // namespace hr::check
