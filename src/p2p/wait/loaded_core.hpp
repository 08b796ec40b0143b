// Loaded core: lets a rank leave a core that another program keeps busy.
//
// mpiexec binds ranks to cores unless it is told otherwise. If it chose the binding itself and the host has more cores
// than ranks, it passes the rank's CPUs and all CPUs that its ranks may use (boot/spare_cpus.hpp). A thread that has
// lost its core to other programs for several milliseconds within a second then binds itself to all CPUs that the ranks
// may use, once per process; the system moves it to an idle core when it next wakes. A thread with another binding than
// mpiexec's keeps that binding, because the program has chosen it.
//
// Owner: process-wide. Threads: library lock.
#pragma once

namespace hr::p2p {

// Sums the time that other programs (loads) have taken from a thread. A plain value.
class LostTime {
 public:
  // Adds a period of `seconds` that ended at `now`; true if loads have taken too much time within a second.
  [[nodiscard]] bool add(double seconds, double now) noexcept;

 private:
  double since_ = -1;
  double lost_ = 0;
};

namespace loaded_core {

// Records that a load has kept the calling thread from its core for a period that ended at `now`, and leaves the core
// if the lost time has become too long.
void note_lost(double seconds, double now);

}  // namespace loaded_core
}  // namespace hr::p2p
