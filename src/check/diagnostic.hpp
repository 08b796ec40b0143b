// Diagnostic: one kind of mistake that the checker detects. To add one, write a file with its record, and add the
// record to diagnostic_list.cpp.
//
// Threads: library lock. Functions may be null.
#pragma once

#include <span>

#include "check/call.hpp"

namespace hr::check {

struct Diagnostic {
  const char* name;
  // start(): called once messages can be sent. stop(): called while they can still be sent.
  void (*start)();
  void (*stop)();
  // Called before the call's body; may wait with progress. Returns an error if the call is wrong; the call is then not
  // executed.
  Status (*before)(Call& call);
  // Called after the body, or after a `before` that has failed. Its error is raised if the call succeeded, else logged.
  Status (*after)(Call& call, int code);
  // Called near the end of MPI_Finalize.
  void (*at_finalize)();
};

std::span<const Diagnostic* const> diagnostics() noexcept;

}  // namespace hr::check
