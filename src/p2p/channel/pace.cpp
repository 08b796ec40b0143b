#include <sched.h>

#include <atomic>
#include <ctime>

#include "base/clock.hpp"
#include "base/counter_parts.hpp"
#include "base/statistics.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel_pace.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p::channels {
namespace {

constexpr unsigned kSpins = 1000;
constexpr unsigned kSpinsShared = 16;
constexpr unsigned kYields = 1000;
constexpr unsigned kYieldsShared = 64;
constexpr unsigned kLookAtOthers = 128;
constexpr unsigned kRoundsOfShortWait = 64;
constexpr unsigned kTestsBetweenPauses = 16;
// Tests, with the rounds that they make, are in close succession if they take no longer than this on average.
constexpr double kClosely = 5e-6;
constexpr long kNapNanoseconds = 50'000;
// Waiting threads, even dozens, return a core sooner. A load keeps it for a time slice.
constexpr double kLongYieldSeconds = 1e-3;
constexpr double kHolds = 100e-3;

std::atomic<double> loaded_until{0};

void count(Statistic statistic) noexcept {
  counters::add_to(counters::own_part().statistics[static_cast<std::size_t>(statistic)], 1);
}

// Tests of this thread that have found nothing.
struct Tests {
  unsigned calls = 0;
  unsigned pauses = 0;  // in a row
  double since = 0;     // end of the last pause
};
thread_local Tests tests;

void give_way() {
  const double before = now_seconds();
  const bool closely = before - tests.since < kClosely * kTestsBetweenPauses;
  tests.pauses = closely ? tests.pauses + 1 : 0;
  if (closely && (is_loaded() || tests.pauses > kYieldsShared)) {
    nap();
  } else {
    yield_core();
  }
  tests.since = now_seconds();
}

}  // namespace

bool is_loaded() noexcept {
  const double until = loaded_until.load(std::memory_order_relaxed);
  return until != 0 && now_seconds() < until;
}

void yield_core() noexcept {
  const double before = now_seconds();
  ::sched_yield();
  const double after = now_seconds();
  if (after - before > kLongYieldSeconds) loaded_until.store(after + kHolds, std::memory_order_relaxed);
}

void nap() noexcept {
  const timespec time{0, kNapNanoseconds};
  ::nanosleep(&time, nullptr);
}

void pause_after_test() {
  ++tests.calls;
  if (tests.calls % kLookAtOthers == 0) progress_others();
  if (tests.calls % kTestsBetweenPauses == 0 && (cores_are_shared() || progress.own_cores <= 1 || is_loaded()))
    give_way();
}

Pace::~Pace() {
  if (timed_) counters::end_wait(counters::own_part(), -1);
}

void Pace::pause() {
  ++rounds_;
  const bool shared = cores_are_shared();
  const unsigned spins = shared ? kSpinsShared : kSpins;
  if (rounds_ % kLookAtOthers == kLookAtOthers - 1) progress_others();
  if (rounds_ == kRoundsOfShortWait) timed_ = counters::begin_wait(counters::own_part(), -1);
  if (rounds_ < spins) return spin_pause();
  const unsigned yields = is_loaded() ? 0 : shared ? kYieldsShared : kYields;
  const bool sleeps = rounds_ >= spins + yields;
  count(sleeps ? Statistic::waits_slept : Statistic::waits_yielded);
  sleeps ? nap() : yield_core();
}

}  // namespace hr::p2p::channels
