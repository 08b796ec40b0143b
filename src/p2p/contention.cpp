#include "p2p/contention.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <ctime>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "base/statistics.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p::contention {
namespace {

// What waits gives a core back within microseconds; what computes keeps it for the rest of a turn, which takes
// milliseconds with every scheduler.
constexpr double kLongYieldSeconds = 500e-6;
// So long a finding holds. To find a load anew may cost one turn of the load's.
constexpr double kHolds = 100e-3;
// Interruptions this close to one another are those of a load; a single one is the system's own work.
constexpr double kOften = 50e-3;
constexpr long kShortSleepNanoseconds = 20'000;

thread_local long switches = -1;  // of this thread, when last looked at; -1: not yet

// How often this thread has given way since it last asked.
long given_way() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const long before = switches;
  switches = usage.ru_nivcsw;
  return before >= 0 ? switches - before : 0;
}

// So many interruptions came of themselves since the last look. Where there is a lock its owners yield, which counts
// alike.
bool interrupted_often(long times, double now) noexcept {
  if (times == 0 || LibraryLock::enabled()) return false;
  const bool often = now - progress.found.last_interruption < kOften;
  progress.found.last_interruption = now;
  return often;
}

bool yields_to_somebody() noexcept {
  ::sched_yield();
  return given_way() != 0;
}

void find(Kind found, double now) noexcept {
  if (progress.found.kind == found && found == Kind::kWaitingPeers)
    return;  // looked for anew in a while: places change
  progress.found.kind = found;
  progress.found.until = now + kHolds;
}

}  // namespace

Kind known() noexcept {
  if (progress.found.kind != Kind::kNone && now_seconds() > progress.found.until) progress.found.kind = Kind::kNone;
  return progress.found.kind;
}

void yield_core() noexcept {
  const bool unknown = known() == Kind::kNone;
  const long interruptions = given_way();
  const int depth = LibraryLock::suspend();
  const double before = now_seconds();
  bool load = interrupted_often(interruptions, before);
  bool waiters = yields_to_somebody();
  if (waiters) {
    load |= now_seconds() - before > kLongYieldSeconds;
    // The system's own work is done by now.
    if (!load && unknown) waiters = yields_to_somebody();
  }
  const double after = now_seconds();
  LibraryLock::resume(depth);
  add(Statistic::waits_yielded);
  if (load) {
    find(Kind::kLoad, after);
  } else if (waiters && known() != Kind::kLoad) {
    find(Kind::kWaitingPeers, after);
  }
}

void short_sleep() noexcept {
  add(Statistic::waits_slept);
  const int depth = LibraryLock::suspend();
  const timespec time{0, kShortSleepNanoseconds};
  ::nanosleep(&time, nullptr);
  LibraryLock::resume(depth);
}

}  // namespace hr::p2p::contention
