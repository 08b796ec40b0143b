#include <sched.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/counter_parts.hpp"
#include "base/statistics.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel_pace.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p::channels {
namespace {

constexpr unsigned kSpins = 2000;
constexpr unsigned kSpinsShared = 16;
// A poll of a network is a system call, beside which a yield costs little.
constexpr unsigned kSpinsNetwork = 8;
constexpr unsigned kYields = 2000;
constexpr unsigned kYieldsShared = 64;
constexpr unsigned kLookAtOthers = 128;
constexpr unsigned kTestsBetweenPauses = 16;
// Tests are in close succession if, on average, each takes no longer than this with the round that it makes.
constexpr double kClosely = 5e-6;
constexpr double kShortestNap = 50e-6;
constexpr double kLongestNap = 50e-3;
constexpr double kPartOfWait = 1.0 / 16;
// A yield that lasts longer shows a load, which keeps the core for a time slice. Waiting threads, even dozens, return
// the core sooner.
constexpr double kLongYieldSeconds = 1e-3;
constexpr double kHolds = 100e-3;

std::atomic<double> loaded_until{0};

void count(Statistic statistic) noexcept {
  counters::add_to(counters::own_part().statistics[static_cast<std::size_t>(statistic)], 1);
}

// True if a load has recently competed for the cores of this process.
bool is_loaded() noexcept {
  const double until = loaded_until.load(std::memory_order_relaxed);
  return until != 0 && now_seconds() < until;
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
    nap(kShortestNap);
    if (progress_others()) tests.pauses = 0;
  } else {
    yield_core();
  }
  tests.since = now_seconds();
}

}  // namespace

void yield_core() noexcept {
  const double before = now_seconds();
  ::sched_yield();
  const double after = now_seconds();
  if (after - before > kLongYieldSeconds) loaded_until.store(after + kHolds, std::memory_order_relaxed);
}

void nap(double seconds) noexcept {
  const timespec time{0, static_cast<long>(seconds * 1e9)};
  ::nanosleep(&time, nullptr);
}

void pause_after_test() {
  ++tests.calls;
  if (tests.calls % kLookAtOthers == 0) static_cast<void>(progress_others());
  if (tests.calls % kTestsBetweenPauses == 0 && (cores_are_shared() || own_cores() <= 1 || is_loaded())) give_way();
}

void Pace::begin_long(int process) noexcept {
  counted_ = true;
  in_sum_ = may_outnumber_cores();
  if (in_sum_) waiting_on_channels.fetch_add(1, std::memory_order_relaxed);
  timed_ = counters::begin_wait(counters::own_part(), process);
}

void Pace::end_long(int process) noexcept {
  counted_ = false;
  if (std::exchange(in_sum_, false)) waiting_on_channels.fetch_sub(1, std::memory_order_relaxed);
  if (std::exchange(timed_, false)) counters::end_wait(counters::own_part(), process);
}

void Pace::begin_anew() noexcept {
  rounds_ = 0;
  since_ = 0;
  shared_ = false;
}

Pace::Step Pace::next(unsigned moves, bool polls_network) {
  if (moves != std::exchange(moves_, moves)) begin_anew();
  ++rounds_;
  // Other threads change the answer, so it is not looked up in every round.
  if (rounds_ > kSpinsShared && rounds_ % kSpinsShared == 1) shared_ = cores_are_shared();
  const unsigned spins = polls_network ? kSpinsNetwork : shared_ ? kSpinsShared : kSpins;
  if (rounds_ <= spins) return Step::kSpin;
  loaded_ = is_loaded();
  wanted_ = loaded_ || shared_;
  const unsigned yields = loaded_ ? 0 : shared_ ? kYieldsShared : kYields;
  if (rounds_ <= spins + yields) return Step::kYield;
  if (since_ == 0) since_ = now_seconds();
  return Step::kSleep;
}

double Pace::sleep_seconds() const noexcept {
  if (!wanted_) return kShortestNap;
  return std::clamp((now_seconds() - since_) * kPartOfWait, kShortestNap, kLongestNap);
}

void Pace::look_at_others(Step step) {
  if (step != Step::kSleep && rounds_ % kLookAtOthers != 0) return;
  if (progress_others()) begin_anew();
}

void Pace::pause(unsigned moves) {
  const Step step = next(moves, false);
  if (becomes_long()) begin_long(-1);
  if (step == Step::kSpin) {
    spin_pause();
  } else {
    count(step == Step::kSleep ? Statistic::waits_slept : Statistic::waits_yielded);
    step == Step::kSleep ? nap(sleep_seconds()) : yield_core();
  }
  look_at_others(step);
}

}  // namespace hr::p2p::channels
