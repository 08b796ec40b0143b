#include "p2p/wait/oversubscription.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <ctime>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "base/statistics.hpp"
#include "p2p/progress.hpp"
#include "p2p/wait/loaded_core.hpp"

namespace hr::p2p::oversubscription {
namespace {

// A waiter returns a core within microseconds; a computation keeps it for the rest of its time slice, which is
// milliseconds with every scheduler.
constexpr double kLongYieldSeconds = 500e-6;
// Time for which a result remains valid. Detecting a load again may cost one of its time slices.
constexpr double kHolds = 100e-3;
// Interruptions this close to one another indicate a load; a single one is due to the system's own work.
constexpr double kOften = 50e-3;
constexpr long kShortSleepNanoseconds = 20'000;

// State of this thread at the last check.
struct Look {
  long given_way = -1;  // -1: not yet
  long slept = 0;
  double wall = 0;
  double core = 0;
};
thread_local Look last;

double core_seconds() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Changes since the last check.
struct Since {
  long given_way = 0;
  bool slept = false;
};
Since look() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  Since since;
  if (last.given_way >= 0) since.given_way = usage.ru_nivcsw - last.given_way;
  since.slept = usage.ru_nvcsw != last.slept;
  last.given_way = usage.ru_nivcsw;
  last.slept = usage.ru_nvcsw;
  return since;
}

// Returns the time for which this thread has been off its core since count_from().
double seconds_away(double now) noexcept { return now - last.wall - (core_seconds() - last.core); }
void count_from(double now) noexcept {
  last.wall = now;
  last.core = core_seconds();
}

// Returns the time that a load has taken if it has interrupted the thread repeatedly, else 0. (After an interruption by
// a woken waiter, the thread regains the core immediately.) Always 0 if the library lock is enabled: its holders yield,
// which the system also counts as interruptions.
double taken_often(const Since& since, double now) noexcept {
  if (since.given_way == 0 || since.slept || LibraryLock::enabled()) return 0;
  const double away = seconds_away(now);
  if (away < static_cast<double>(since.given_way) * kLongYieldSeconds) return 0;
  const bool often = now - progress.found.last_interruption < kOften;
  progress.found.last_interruption = now;
  return often ? away : 0;
}

bool yield_to_another() noexcept {
  ::sched_yield();
  return look().given_way != 0;
}

void find(Kind found, double now) noexcept {
  if (progress.found.kind == found && found == Kind::kWaitingPeers)
    return;  // the check is repeated later, as CPU assignments change
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
  const int depth = LibraryLock::suspend();
  const double before = now_seconds();
  double taken = taken_often(look(), before);
  bool waiters = yield_to_another();
  bool load = taken > 0;
  if (waiters) {
    const double yielded = now_seconds() - before;
    if (yielded > kLongYieldSeconds) {
      load = true;
      taken += yielded;
    }
    // The system's own work is done by now, so a second yield shows whether there are waiters.
    if (!load && unknown) waiters = yield_to_another();
  }
  const double after = now_seconds();
  count_from(after);
  LibraryLock::resume(depth);
  add(Statistic::waits_yielded);
  if (load) {
    find(Kind::kLoad, after);
    loaded_core::note_lost(taken, after);
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

}  // namespace hr::p2p::oversubscription
