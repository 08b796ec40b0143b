// Races: detects unordered accesses by several processes to the same memory of a window (MPI 5.0 section 12.7).
//
// An origin sends reports of its accesses (epochs.cpp) to the target before the next collective that waits. The target
// compares them with each other and with its own CPU's accesses (watch.hpp). It reports races after the collective,
// because all origins have sent their reports before the collective. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>

#include "check/accesses.hpp"
#include "check/clock.hpp"

namespace hr::rma {
class Window;
}

namespace hr::check {

// Accesses made by one call of the program.
struct Accesses {
  Access access;
  CallSite call_site;
  Moment since;             // when the accesses began
  std::uint32_t until = 0;  // the origin's count when the accesses were complete
  std::uint32_t until_phase = 0;
  Intervals intervals;     // ranges of the window's memory at the target
  std::uint64_t data = 0;  // hash of the data of a single put; 0 for several puts or none
};

// Records accesses that are complete, for a report to the target.
void note_accesses(rma::Window& window, int target, Accesses accesses);
// Records a load or store by this process in its own part of a window.
void note_own_access(rma::Window& window, AccessKind kind, const CallSite& call_site, const Range& memory);
// Sends the reports to the targets, before a collective that waits.
void tell_accesses();
// Called in a collective before which all members of the window with this context (0: all processes) have sent their
// reports: races are reported at the end of the call.
void expect_findings(std::uint32_t context);
// Returns the live window with this context; null: there is none.
rma::Window* window_of(std::uint32_t context);

}  // namespace hr::check
