// Races: accesses of several processes to the same memory of a window, of which none is ordered before the other
// (MPI 5.0 section 12.7).
//
// An origin tells the target of its accesses, before the next collective that waits (epochs.cpp). The target compares
// what it is told, and what its own CPU does (watch.hpp); it says what it has found after the collective, when all have
// told. Internal to check/. Threads: library lock.
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
  Site site;
  Moment since;             // when they began
  std::uint32_t until = 0;  // the origin's count, and its phase, when they were complete
  std::uint32_t until_phase = 0;
  Intervals places;        // in the window's memory at the target
  std::uint64_t data = 0;  // of one put: what it writes, as a hash; 0: of several, or no put
};

// They are complete: the target will be told.
void note_accesses(rma::Window& window, int target, Accesses accesses);
// A load or store of this process in its own part of a window.
void note_own_access(rma::Window& window, AccessKind kind, const Site& site, const Run& memory);
// Before a collective that waits: the targets are told now.
void tell_accesses();
// All members of a window have told what they did before the collective that this call is; 0: all processes have.
void expect_findings(std::uint32_t context);
// The live window with this context; null: there is none.
rma::Window* window_of(std::uint32_t context);

}  // namespace hr::check
