#include "p2p/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "base/counter_parts.hpp"
#include "base/knobs.hpp"
#include "base/statistics.hpp"
#include "p2p/channel_pace.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/turns.hpp"
#include "p2p/wait/oversubscription.hpp"
#include "topo/allowed_cpus.hpp"

namespace hr::p2p {
namespace {

bool flush_busy(Engine& state) {
  bool moved = false;
  for (std::size_t i = 0; i < state.busy.size();) {
    Peer& peer = *state.busy[i];
    moved |= flush(peer);
    if (!peer.idle()) {
      ++i;
      continue;
    }
    peer.busy = false;
    state.busy[i] = state.busy.back();
    state.busy.pop_back();
  }
  return moved;
}

bool run_hooks() {
  bool moved = false;
  for (std::size_t i = 0; i < progress.hooks.size();) {
    const unsigned before = progress.hooks_changed;
    moved |= progress.hooks[i].function(progress.hooks[i].argument);
    // After a change, the remaining hooks wait for the next round, so that none is skipped or run twice.
    if (progress.hooks_changed != before) return true;
    ++i;
  }
  return moved;
}

// Pacing of a waiting rank. If it has its own core, it polls for milliseconds, and checks occasionally whether it still
// has one; if others wait for the core, it yields almost immediately, as the sender of the awaited message may need the
// core.
constexpr unsigned kSpinShared = 20;
constexpr unsigned kSpinSharedPolled = 1;  // the writer of the awaited word may be waiting for this core
// Longer than it takes to wake a sleeper; otherwise two processes that exchange messages would repeatedly put each
// other to sleep.
constexpr unsigned kSpinBesideLoad = 1500;
constexpr unsigned kSpinBesideLoadOnNetwork = 64;  // a round is a system call
constexpr unsigned kLookEvery = 512;
constexpr unsigned kSpinAlone = 20000;
constexpr unsigned kYieldsAlone = 20000;
// A wait that no doorbell ends sleeps briefly once it has lasted much longer than such a sleep, and seldom checks for
// competition.
constexpr unsigned kSpinBeforeNaps = 20000;
constexpr unsigned kNapsPerYield = 16;
constexpr unsigned kYieldsShared = 40;
// With few ranks per core, a waiter yields for longer than it takes to wake a sleeper, because each yield returns soon.
constexpr double kYieldsOfACore = 400;
// A round that polls a network is a system call, and the cores may belong to other hosts as well (containers).
constexpr unsigned kYieldsOnNetwork = 10;
// With that many ranks per core that poll a network, whose rounds are system calls, waits do not yield: a yield returns
// late, and beside a load the system gives the cores to those that do not yield. Waits that no message ends nap
// instead, each time for longer.
constexpr double kManyPerCore = 8;
constexpr double kShortestNap = 20e-6;
constexpr double kLongestNap = 100e-6;  // multiplied by the number of ranks per core
constexpr unsigned kLooksAlone = 1000;
constexpr unsigned kLooksShared = 2;
constexpr double kSleepSeconds = 10e-3;
constexpr double kMostPatience = 10;
constexpr double kSleepBesideThreads = 200e-6;  // another thread may complete the operation that this one waits for
constexpr double kSleepWithHooks = 1e-3;
// Pacing of test calls. Calls are in close succession if the program spends at most kClosely between them on average.
constexpr double kClosely = 2e-6;
constexpr double kLongestRound = 20e-6;  // a longer round of progress was interrupted
constexpr unsigned kAsksShared = 20;
constexpr unsigned kAsksOnceShared = 2;  // after the first pause in a row
constexpr unsigned kAsksBesideLoad = 1024;
constexpr unsigned kMostHalvings = 5;
constexpr unsigned kAsksAlone = 1024;
// Short, as the program may be waiting for something else as well.
constexpr double kSleepAsking = 100e-6;

// True if processes outnumbered their cores at the last check.
bool is_crowded() noexcept {
  const Engine* state = engine();
  return state == nullptr || state->oversubscribed || shared_cpus::outnumbered();
}

// True if other waiters need this core, as shown by their number, or by a yield that let one of them run.
bool is_shared() noexcept {
  return cores_are_shared() || oversubscription::known() == oversubscription::Kind::kWaitingPeers;
}
bool is_loaded() noexcept { return oversubscription::known() == oversubscription::Kind::kLoad; }

// The library lock is held, but other threads read the number without it.
void count_waiting(int more) noexcept {
  const std::atomic_ref<int> number(progress.waiting_threads);
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

// Number of test calls until the next of several successive pauses. Beside a load, it falls with each pause: if the
// load consists of ranks that test on this core and take one another for loads, their turns become so short that they
// recognise each other.
unsigned calls_until_next_pause() noexcept {
  const unsigned calls = progress.calls_before_pause;
  if (calls == kAsksShared) return kAsksOnceShared;
  return is_loaded() ? calls >> std::min(progress.pauses, kMostHalvings) : calls;
}

bool many_poll_network() noexcept { return engine()->polls_network && progress.patience >= kManyPerCore; }

// Multiplies sleeps that messages end, and that the program may have other reasons to end.
double stretch() noexcept { return many_poll_network() ? progress.patience : 1; }

unsigned yields_before_sleep(bool shared, bool loaded) noexcept {
  if (loaded) return 0;
  if (!shared) return kYieldsAlone;
  if (many_poll_network()) return 0;
  if (engine()->polls_network) return kYieldsOnNetwork;
  if (progress.patience <= 1) return kYieldsShared;
  return std::max(kYieldsShared, static_cast<unsigned>(kYieldsOfACore / progress.patience));
}

// False while a message waits for room that its transport will not announce: no doorbell rings for this event.
bool messages_announced() noexcept {
  const Engine* state = engine();
  if (state == nullptr || !state->sleeper.can_sleep()) return false;
  return std::ranges::all_of(state->busy, [](const Peer* each) {
    return each->transport != nullptr && each->transport->announces_room(each->proc);
  });
}

// False also while a thread waits for a condition, whose end no doorbell announces.
bool may_sleep() noexcept { return progress.polled_waits == 0 && messages_announced(); }

void sleep_for(double seconds) {
  Sleeper& sleeper = engine()->sleeper;
  const auto armed = sleeper.arm();
  if (!armed) return LibraryLock::yield();
  add(Statistic::waits_slept);
  ++progress.sleeping_waits;
  const int depth = LibraryLock::suspend();
  sleeper.sleep(*armed, seconds);
  LibraryLock::resume(depth);
  --progress.sleeping_waits;
}

}  // namespace

bool poll() {
  Engine* state = engine();
  if (state == nullptr) return false;
  bool moved = false;
  for (transport::Transport* each : state->transports) moved |= each->progress();
  if (!state->busy.empty()) [[unlikely]]
    moved |= flush_busy(*state);
  if (!progress.hooks.empty()) [[unlikely]]
    moved |= run_hooks();
  // The arrivals may be for a sleeping thread.
  if (moved && progress.sleeping_waits != 0) [[unlikely]]
    wake_waiting();
  return moved;
}

void let_others_in() {
  calls_to_turn = kCallsPerTurn;
  poll();
}

bool any_failures() noexcept { return engine()->failures != 0; }

void deliver_beside_thread() {
  if (progress_thread::starved()) {
    poll();
    return;
  }
  if (needs_polling()) progress_thread::wake();
  for (transport::Transport* each : engine()->transports) each->progress();
}

void poll_for_probe() {
  if (!progress_thread::is_watching()) {
    poll_for_test([] { return false; });
    return;
  }
  static_cast<void>(progress_thread::take_round());  // counts the call
  deliver_beside_thread();
}

void add_hook(ProgressHook hook, void* argument) {
  const Progress::Hook added{hook, argument};
  if (std::find(progress.hooks.begin(), progress.hooks.end(), added) == progress.hooks.end()) {
    progress.hooks.push_back(added);
    ++progress.hooks_changed;
  }
  progress_thread::wake();
}

void remove_hook(ProgressHook hook, void* argument) {
  std::erase(progress.hooks, Progress::Hook{hook, argument});
  ++progress.hooks_changed;
}

void begin_polled_wait() noexcept {
  ++progress.polled_waits;
  set_spin_limits();
}
void end_polled_wait() noexcept {
  --progress.polled_waits;
  set_spin_limits();
}

bool needs_polling() noexcept {
  const Engine* state = engine();
  return progress.polled_waits > 0 || !progress.hooks.empty() || (state != nullptr && !state->busy.empty());
}

bool needs_one_hook() noexcept {
  const Engine* state = engine();
  return progress.polled_waits == 0 && progress.hooks.size() == 1 && (state == nullptr || state->busy.empty());
}

void wake_waiting() noexcept {
  if (progress.sleeping_waits != 0) engine()->sleeper.wake();
}

// Number of threads that wait under the library lock.
static int waiting_elsewhere() noexcept {
  return std::atomic_ref(progress.waiting_threads).load(std::memory_order_relaxed);
}

bool node_oversubscribed() noexcept {
  shared_cpus::look();
  return is_crowded();
}

bool node_oversubscribed_for_good() noexcept {
  shared_cpus::look_again();
  return is_crowded();
}

bool cores_are_shared() noexcept {
  return is_crowded() || waiting_elsewhere() + waiting_on_channels.load(std::memory_order_relaxed) > own_cores();
}

bool channels::may_outnumber_cores() noexcept {
  return waiting_elsewhere() + counters::threads_with_parts() > own_cores();
}

unsigned spins_before_progress() noexcept { return node_oversubscribed() ? kLooksShared : kLooksAlone; }

void begin_progress() {
  progress = {};
  count_cores(engine()->processes_on_node, online_cores());
  shared_cpus::look();
  set_spin_limits();
}

void set_spin_limits() noexcept {
  const auto chosen = static_cast<unsigned>(knobs().spin_rounds);
  const bool shared = is_shared();
  const bool loaded = is_loaded();
  const unsigned spins_shared = progress.polled_waits > 0 ? kSpinSharedPolled : kSpinShared;
  const unsigned spins_loaded = engine()->polls_network ? kSpinBesideLoadOnNetwork : kSpinBesideLoad;
  progress.spin_rounds = chosen != 0 ? chosen : shared ? spins_shared : loaded ? spins_loaded : kLookEvery;
  progress.calls_before_pause = shared ? kAsksShared : loaded ? kAsksBesideLoad : kAsksAlone;
}

int online_cores() noexcept { return static_cast<int>(std::max<long>(::sysconf(_SC_NPROCESSORS_ONLN), 1)); }

int share_of_cores(int processes, int cores) noexcept {
  const int share = std::max(cores / processes, 1);
  const int allowed = static_cast<int>(topo::allowed_cpus().size());
  return allowed == 0 ? share : std::min(share, allowed);
}

void count_cores(int processes, int cores) noexcept {
  std::atomic_ref(progress.own_cores).store(share_of_cores(processes, cores), std::memory_order_relaxed);
  progress.patience = std::clamp(static_cast<double>(processes) / cores, 1.0, kMostPatience);
}

void Backoff::begin_thread() noexcept {
  counted_ = ends_ = true;
  count_waiting(1);
  set_spin_limits();
}

void Backoff::begin_long() noexcept {
  if (timed_) return;
  whom_ = waits_for(request_);
  timed_ = counters::begin_wait(whom_);
  ends_ = ends_ || timed_;
}

void Backoff::end() noexcept {
  if (timed_) counters::end_wait(whom_ < 0 ? waits_for(request_) : whom_);
  if (!counted_) return;
  count_waiting(-1);
  set_spin_limits();
}

// True if a polled wait has lasted so long that it should no longer occupy a whole core. If the system or the host of a
// virtual machine runs two of the ranks in turn, each would otherwise spend its turn waiting for the other: a thread
// that sleeps saves its turn for the moment when the awaited word is written. With more ranks than cores, yields would
// only hand the cores from one waiter to the next.
bool Backoff::naps() const noexcept {
  return progress.polled_waits > 0 && rounds_ > kSpinBeforeNaps && rounds_ % kNapsPerYield != 0;
}

void Backoff::pause_longer() {
  begin_long();
  if (request_ != nullptr && should_look_for_left()) {
    end_if_others_left(*request_, true);
    if (request_->complete()) return LibraryLock::yield();  // the look may also have delivered the message
  }
  shared_cpus::look();
  const bool shared = is_shared();
  const bool loaded = is_loaded();
  const unsigned past = rounds_ - std::min(rounds_, progress.spin_rounds);  // the look may have raised the limit
  const unsigned spins = shared || loaded || knobs().spin_rounds != 0 ? 0 : kSpinAlone;
  if (past < spins && past % kLookEvery != 0) {
    spin_pause();
    return LibraryLock::yield();
  }
  add(Statistic::waits_spun, past == 0 ? rounds_ : past <= spins ? kLookEvery : 1);
  const unsigned yields = yields_before_sleep(shared, loaded);
  if (past >= spins + yields && may_sleep()) {
    sleep_for(LibraryLock::enabled()   ? kSleepBesideThreads
              : progress.hooks.empty() ? kSleepSeconds * progress.patience
                                       : kSleepWithHooks * stretch());
  } else if (past >= spins + yields && shared && many_poll_network()) {
    const unsigned naps_before = past - spins - yields;
    const double seconds = std::min(kShortestNap * (1 + naps_before), kLongestNap * progress.patience);
    messages_announced() ? sleep_for(seconds) : oversubscription::short_sleep();
  } else if (loaded || naps()) {
    oversubscription::short_sleep();
  } else {
    oversubscription::yield_core();
    // Another process of the job is on this core, although other cores may be idle: the system runs a woken sleeper on
    // one of the idle cores.
    const bool shares_core = !shared && oversubscription::known() == oversubscription::Kind::kWaitingPeers;
    if (shares_core && may_sleep()) sleep_for(kSleepWithHooks);
  }
  set_spin_limits();
}

bool TestPacing::pause() {
  // A round of progress with other hosts makes system calls, which take longer on some machines than the program's own
  // work.
  const double before = now_seconds();
  const bool moved = poll();
  const double now = now_seconds();
  const double apart = kClosely + std::min(now - before, kLongestRound);
  const bool closely = before - progress.since < apart * progress.calls_before_pause;
  progress.in_vain = 0;
  progress.since = now;
  progress.pauses = closely && !moved ? progress.pauses + 1 : 0;
  if (moved || !closely) return moved;
  shared_cpus::look();
  const bool loaded = is_loaded();
  if ((loaded || (is_shared() && progress.pauses > kYieldsShared)) && may_sleep()) {
    sleep_for(kSleepAsking * stretch());
  } else if (loaded) {
    oversubscription::short_sleep();
  } else {
    oversubscription::yield_core();
  }
  set_spin_limits();
  progress.in_vain = progress.calls_before_pause - calls_until_next_pause();
  progress.since = now_seconds();
  return poll();
}

}  // namespace hr::p2p
