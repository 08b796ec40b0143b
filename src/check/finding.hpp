// Finding: one kind of mistake that the checker looks for. To add one: its file with its record, and its name in
// finding_list.cpp.
//
// Threads: library lock. Functions may be null.
#pragma once

#include <span>

#include "check/call.hpp"

namespace hr::check {

struct Finding {
  const char* name;
  // Once messages can be sent; before they cannot any more.
  void (*start)();
  void (*stop)();
  // Before the call's body; may wait with progress. Errors: the call is wrong, and is not carried out.
  Status (*before)(Call& call);
  // After it, or after a `before` that has failed. Errors: told where the call has none of its own.
  Status (*after)(Call& call, int code);
  // Near the end of MPI_Finalize.
  void (*at_finalize)();
};

std::span<const Finding* const> findings() noexcept;

}  // namespace hr::check
