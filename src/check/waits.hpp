// Waits: determines which processes a call waits for. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/call.hpp"

namespace hr::check {

struct Wait {
  bool any = false;  // true: one of `processes` can end the wait; false: all are needed
  // Identify a collective that has not begun (0 and 0: none); processes that wait in the same collective do not block
  // each other.
  std::uint32_t context = 0;
  std::uint64_t sequence = 0;
  std::vector<int> processes;
  std::string text;  // "waits in MPI_Recv from rank 1 with tag 3 at a.c:12 (main)"
};

// Returns the processes that the call waits for; nullopt if it waits for none, or if they are not known.
std::optional<Wait> wait_of(const Call& call);

}  // namespace hr::check
