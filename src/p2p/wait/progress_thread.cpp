#include "p2p/progress_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/library_thread.hpp"
#include "base/lock.hpp"
#include "base/log.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/progress.hpp"
#include "topo/allowed_cpus.hpp"

namespace hr::p2p::progress_thread {
namespace {

// If there is a core to spare: pauses between two rounds, and time for which the thread polls after the last progress.
constexpr int kPausesBetweenLooks = 8;
constexpr double kWatchSeconds = 1e-3;
// If there is no core to spare: initial and maximum time for which the program must have stayed outside MPI.
constexpr double kShortestNap = 100e-6;
constexpr double kLongestNap = 1e-3;
// Maximum lengths of a sleep. The event that ends a wait for a device or for a word in shared memory rings no doorbell.
constexpr double kSleepSeconds = 10e-3;
constexpr double kSleepPolling = 100e-6;
// Length of a rest, as a part of the time for which nothing has moved.
constexpr double kPartOfIdle = 1.0 / 50;
// Maximum number of rounds with progress before the thread checks whether it must stop.
constexpr int kMostRounds = 16;
// Number of calls in a row that find no round made by the thread, after which a call makes a round itself.
constexpr unsigned kMostMissed = 1000;

// Process-wide, and not in the engine: every message checks whether the thread sleeps, an exit handler ends it, and a
// forked child sees here that it has no such thread. start() resets it.
struct State {
  pthread_t thread{};
  bool running = false;
  pid_t owner = 0;  // process that started the thread: a forked child has none
  bool watches = false;
  std::atomic<bool> watching{false};  // the thread runs and watches
  bool unbound = false;               // the thread may use every core
  std::atomic<bool> stopping{false};
  std::atomic<Attention> attention{Attention::kNone};
  std::atomic<bool> asleep{false};   // true while a watching thread sleeps; set under the lock
  std::atomic<bool> woken{false};    // wake() or attend() has woken the thread since it fell asleep
  std::atomic<bool> resting{false};  // true while the thread rests; set under the lock
  SeldomPolled seldom;               // library lock
  unsigned moves = 0;                // its moves, as last seen by the thread
  double moved = 0;                  // time at which the thread saw them change, or was woken
  // The thread writes `rounds`; threads that call take_round() write the others.
  alignas(64) std::atomic<unsigned> rounds{0};
  alignas(64) std::atomic<unsigned> rounds_taken{0};
  std::atomic<unsigned> missed{0};
};
constinit State state;
thread_local bool is_this = false;

Attention attention() noexcept { return state.attention.load(std::memory_order_relaxed); }
bool stopped() noexcept { return state.stopping.load(std::memory_order_acquire); }

void nap(double seconds) noexcept {
  timespec time{};
  time.tv_nsec = static_cast<long>(seconds * 1e9);
  ::nanosleep(&time, nullptr);
}

// `slept`: the hook of work that is polled seldom may not have run for a while.
bool poll_on(bool slept) {
  bool moved = slept && state.seldom.round != nullptr && state.seldom.round();
  for (int round = 0; round < kMostRounds && poll(); ++round) {
    moved = true;
    if (LibraryLock::contended()) break;
  }
  return moved;
}

// True if the thread may rest. Called with the lock held.
bool may_rest() noexcept {
  return state.seldom.moves != nullptr && needs_one_hook() && attention() == Attention::kNone;
}

// Returns the length of a rest. `last`: time of the last progress by this thread.
double rest_seconds(double last) {
  const unsigned moves = state.seldom.moves();
  const double now = now_seconds();
  if (moves != std::exchange(state.moves, moves)) state.moved = now;
  return std::clamp((now - std::max(last, state.moved)) * kPartOfIdle, kSleepPolling, kSleepSeconds);
}

// Sleeps, or returns immediately if something has arrived. Called with the lock held, which it releases. `last`: time
// of the last progress by this thread. True if wake() or attend() ended the sleep.
bool sleep(double last) {
  Sleeper& sleeper = engine()->sleeper;
  const bool polling = needs_polling() || attention() != Attention::kNone;
  const bool rests = polling && may_rest();
  const double seconds = rests ? rest_seconds(last) : polling ? kSleepPolling : kSleepSeconds;
  if (!sleeper.can_sleep()) {
    LibraryLock::release();
    nap(kSleepPolling);
    return false;
  }
  const auto armed = sleeper.arm();
  state.woken.store(false, std::memory_order_relaxed);
  state.asleep.store(armed && state.watches, std::memory_order_relaxed);
  state.resting.store(armed && rests, std::memory_order_relaxed);
  LibraryLock::release();
  // A stop() before arm() did not wake this sleep.
  if (armed) sleeper.sleep(*armed, stopped() ? 0 : seconds);
  state.asleep.store(false, std::memory_order_relaxed);
  state.resting.store(false, std::memory_order_relaxed);
  const bool woken = state.woken.load(std::memory_order_relaxed);
  if (woken) state.moved = now_seconds();
  return woken;
}

void watch() {
  double last = now_seconds();
  bool slept = false;
  while (!stopped()) {
    for (int i = 0; i < kPausesBetweenLooks; ++i) spin_pause();
    // A thread that waits for the lock takes precedence: it may be asleep, and would never get the lock between two
    // rounds.
    const bool free = !LibraryLock::contended() && LibraryLock::try_acquire();
    if (!free || poll_on(std::exchange(slept, false)) || attention() == Attention::kAwake) last = now_seconds();
    if (!free) continue;
    count_round();
    if (now_seconds() - last > kWatchSeconds) {
      if (sleep(last)) last = now_seconds();
      slept = true;
    } else {
      LibraryLock::release();
    }
  }
}

void stand_in() {
  unsigned calls = LibraryLock::acquisitions() - 1;
  double rest = kShortestNap;
  double last = now_seconds();
  while (!stopped()) {
    const unsigned now = LibraryLock::acquisitions();
    if (now != calls || LibraryLock::contended() || !LibraryLock::try_acquire()) {
      calls = now;
      nap(rest);
      rest = std::min(2 * rest, kLongestNap);
      continue;
    }
    rest = kShortestNap;
    // If something moved, more messages may follow for which no doorbell rings. A thread that waits for the lock gets
    // it before the next round.
    if (poll_on(true)) {
      LibraryLock::release();
      last = now_seconds();
    } else if (attention() == Attention::kAwake && now_seconds() - last < kWatchSeconds) {
      LibraryLock::release();
      ::sched_yield();
    } else {
      static_cast<void>(sleep(last));
    }
  }
}

void* run(void*) {
  ::pthread_setname_np(::pthread_self(), "mpi progress");
  is_this = true;
  if (state.unbound) {
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    (void)::sched_setaffinity(0, sizeof all, &all);
  }
  state.watches ? watch() : stand_in();
  return nullptr;
}

// True if this process may use only one core; an unknown number counts as one.
bool has_one_core() { return topo::allowed_cpus().size() <= 1; }

bool has_cores_to_spare() { return 2 * engine()->processes_on_node <= ::sysconf(_SC_NPROCESSORS_ONLN); }

bool may_watch() {
  if (knobs().progress_thread == ProgressThreadChoice::kWatch) return true;
  if (knobs().progress_thread == ProgressThreadChoice::kSleep) return false;
  return (state.unbound || !has_one_core()) && has_cores_to_spare();
}

Status launch() {
  // In programs that end without MPI_Finalize, the thread ends before the objects that it uses are destroyed.
  static const int registered = std::atexit(stop);
  static_cast<void>(registered);
  for (auto* flag : {&state.asleep, &state.woken, &state.resting}) flag->store(false, std::memory_order_relaxed);
  for (auto* count : {&state.rounds, &state.rounds_taken, &state.missed}) count->store(0, std::memory_order_relaxed);
  state.stopping.store(false, std::memory_order_release);
  state.watches = may_watch();
  const int error = with_signals_blocked([] { return start_library_thread(&state.thread, run, nullptr); });
  if (error != 0) {
    return fail(Errc::kOther,
                "no progress thread can be started: %s (HEADRACE_PROGRESS_THREAD=off: progress only within MPI calls)",
                std::strerror(error));
  }
  state.running = true;
  state.owner = ::getpid();
  state.watching.store(state.watches, std::memory_order_relaxed);
  LibraryLock::wait_awake(state.watches);
  log::write(log::Level::kDecision, "progress thread: %s",
             state.watches ? "watches while the program computes" : "sleeps until messages arrive");
  if (state.watches && !state.unbound && has_one_core()) {
    log::write(
        log::Level::kNote,
        "HEADRACE_PROGRESS_THREAD=watch, but this process may use one core only, which the thread takes from the "
        "program: bind ranks to more (mpiexec --bind-to none), or say \"on\"");
  }
  return kOk;
}

}  // namespace

Status start() {
  if (state.running || !engine()->sleeper.can_sleep()) return kOk;
  state.unbound = false;
  return launch();
}

Status start_for_streams() {
  if (state.running) return kOk;
  state.unbound = has_one_core() && has_cores_to_spare();
  return launch();
}

void attend(Attention wanted) noexcept {
  if (state.attention.load(std::memory_order_relaxed) >= wanted) {
    state.attention.store(wanted, std::memory_order_relaxed);
    return;
  }
  state.attention.store(wanted, std::memory_order_relaxed);
  if (state.watches && !state.asleep.load(std::memory_order_relaxed)) return;
  state.woken.store(true, std::memory_order_relaxed);
  if (state.running && engine() != nullptr && engine()->sleeper.can_sleep()) engine()->sleeper.wake();
}

bool is_watching() noexcept { return state.watching.load(std::memory_order_relaxed); }

bool take_round() noexcept {
  const unsigned now = state.rounds.load(std::memory_order_relaxed);
  const bool moved_on = state.rounds_taken.load(std::memory_order_relaxed) != now;
  if (moved_on) state.rounds_taken.store(now, std::memory_order_relaxed);
  state.missed.store(moved_on ? 0 : state.missed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return moved_on && !state.asleep.load(std::memory_order_relaxed);
}

bool starved() noexcept { return state.missed.load(std::memory_order_relaxed) > kMostMissed; }

void count_round() noexcept {
  if (is_this) state.rounds.store(state.rounds.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void poll_seldom(const SeldomPolled& work) noexcept { state.seldom = work; }

bool is_resting() noexcept { return state.resting.load(std::memory_order_relaxed); }

void wake() noexcept {
  if (!state.asleep.load(std::memory_order_relaxed) && !is_resting()) [[likely]]
    return;
  state.woken.store(true, std::memory_order_relaxed);
  state.resting.store(false, std::memory_order_relaxed);  // until it runs, other operations need not wake it again
  engine()->sleeper.wake();
}

void stop() noexcept {
  if (!state.running || state.owner != ::getpid()) return;
  state.running = false;
  state.watching.store(false, std::memory_order_relaxed);
  state.stopping.store(true, std::memory_order_release);
  if (engine() != nullptr) engine()->sleeper.wake();
  // The thread may be waiting for the lock, to report the end of a copy.
  const int depth = LibraryLock::suspend();
  ::pthread_join(state.thread, nullptr);
  LibraryLock::resume(depth);
}

}  // namespace hr::p2p::progress_thread
