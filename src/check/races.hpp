// Races: accesses of several processes to the same memory of a window, of which none is ordered before the other
// (MPI 5.0 section 12.7).
//
// An origin tells the target of its accesses, before the next collective that waits (epochs.cpp). The target compares
// these reports with each other and with its own CPU's accesses (watch.hpp); it reports races after the collective,
// when all have sent theirs. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>

#include "check/accesses.hpp"
#include "check/clock.hpp"

namespace hr::rma {
class Window;
}

namespace hr::check {

// Accesses by one call of the program's.
struct Accesses {
  Access access;
  CallSite call_site;
  Moment since;             // when they began
  std::uint32_t until = 0;  // the origin's count, and its phase, when they were complete
  std::uint32_t until_phase = 0;
  Intervals intervals;     // in the window's memory at the target
  std::uint64_t data = 0;  // hash of the data of a single put; 0: of several, or no put
};

// Notes accesses that are complete, for a report to the target.
void note_accesses(rma::Window& window, int target, Accesses accesses);
// Notes a load or store of this process in its own part of a window.
void note_own_access(rma::Window& window, AccessKind kind, const CallSite& call_site, const Range& memory);
// Sends the reports to the targets, before a collective that waits.
void tell_accesses();
// Expects reports: all members of a window have sent theirs before the collective that this call is; 0: all processes.
void expect_findings(std::uint32_t context);
// Returns the live window with this context; null: there is none.
rma::Window* window_of(std::uint32_t context);

}  // namespace hr::check
