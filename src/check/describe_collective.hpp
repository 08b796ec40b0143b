// The parts of a collective call that must agree with the other members' (collectives.hpp). Internal to check/.
#pragma once

#include <vector>

#include "check/call.hpp"
#include "check/collectives.hpp"
#include "coll/call.hpp"

namespace hr::check {

struct Described {
  Record record;
  std::vector<Signature> sends;    // to each peer, or one to the root
  std::vector<Signature> expects;  // from each peer, or one from the root
};

// True for an operation of chapter 6 or section 8.6, in any form: coll/ executes it.
[[nodiscard]] bool is_collective_operation(const Call& call);
Described describe_operation(const coll::Call& operation);

// Another function that all members call.
struct CollectiveFunction {
  const char* name;
  ObjectKind kind;
  const char* argument;     // the communicator, window or file
  const char* agreed = "";  // an argument that must be equal on all members
  bool waits = true;
  bool ends = false;     // frees it
  bool compares = true;  // MPI_Comm_free: need not wait for the others, and what comes after has no place in its order
};
const CollectiveFunction* find_collective(const Call& call);
Described describe_function(const Call& call, const CollectiveFunction& function);

}  // namespace hr::check
