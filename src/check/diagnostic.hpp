// Diagnostic: one kind of mistake that the checker looks for. To add one: a file with its record, and its name in
// diagnostic_list.cpp.
//
// Threads: library lock. Functions may be null.
#pragma once

#include <span>

#include "check/call.hpp"

namespace hr::check {

struct Diagnostic {
  const char* name;
  // Called once messages can be sent, and before they no longer can.
  void (*start)();
  void (*stop)();
  // Called before the call's body; may wait with progress. Errors: the call is wrong, and is not executed.
  Status (*before)(Call& call);
  // Called after it, or after a `before` that has failed. Errors: reported if the call has none of its own.
  Status (*after)(Call& call, int code);
  // Called near the end of MPI_Finalize.
  void (*at_finalize)();
};

std::span<const Diagnostic* const> diagnostics() noexcept;

}  // namespace hr::check
