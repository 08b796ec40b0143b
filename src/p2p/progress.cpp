#include "p2p/progress.hpp"

#include <sched.h>

#include <algorithm>
#include <vector>

#include "base/knobs.hpp"
#include "p2p/engine.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/shared_copy.hpp"

namespace hr::p2p {
namespace {

struct Hook {
  ProgressHook function;
  void* argument;
  bool operator==(const Hook&) const = default;
};
std::vector<Hook> hooks;
int polled_waits = 0;
int sleeping_waits = 0;
unsigned hooks_changed = 0;  // a running hook may add or remove hooks, itself included

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
  for (std::size_t i = 0; i < hooks.size();) {
    const unsigned before = hooks_changed;
    moved |= hooks[i].function(hooks[i].argument);
    // After a change the rest waits for the next round rather than being skipped or run twice.
    if (hooks_changed != before) return true;
    ++i;
  }
  return moved;
}

// Pacing of a waiting rank. With a core of its own it polls for milliseconds; where ranks outnumber cores it gives way
// almost at once, since the message it waits for needs the core to be made.
constexpr unsigned kSpinAlone = 20000;
constexpr unsigned kSpinShared = 20;
constexpr unsigned kSpinSharedPolled = 1;  // who writes the word that is waited for may be waiting for this core
constexpr unsigned kYieldsAlone = 20000;
constexpr unsigned kYieldsShared = 40;
constexpr unsigned kLooksAlone = 1000;
constexpr unsigned kLooksShared = 2;
constexpr double kSleepSeconds = 10e-3;
constexpr double kSleepBesideThreads = 200e-6;  // another thread may complete what this one waits for
constexpr double kSleepWithHooks = 1e-3;

}  // namespace

bool poll() {
  Engine* state = engine();
  if (state == nullptr) return false;
  bool moved = false;
  for (transport::Transport* each : state->transports) moved |= each->progress();
  if (!state->busy.empty()) [[unlikely]]
    moved |= flush_busy(*state);
  if (!state->to_read.empty() || !state->to_write.empty()) [[unlikely]] {
    shared_copy::advance();
    moved = true;
  }
  if (!hooks.empty()) [[unlikely]]
    moved |= run_hooks();
  return moved;
}

void deliver_beside_thread() {
  if (progress_thread::gets_no_turn()) {
    poll();
    return;
  }
  if (needs_polling()) progress_thread::wake();
  for (transport::Transport* each : engine()->transports) each->progress();
}

void poll_briefly() {
  if (!progress_thread::is_watching()) {
    poll();
    return;
  }
  static_cast<void>(progress_thread::take_round());  // counts the call
  deliver_beside_thread();
}

void add_hook(ProgressHook hook, void* argument) {
  const Hook added{hook, argument};
  if (std::find(hooks.begin(), hooks.end(), added) == hooks.end()) {
    hooks.push_back(added);
    ++hooks_changed;
  }
  progress_thread::wake();
}

void remove_hook(ProgressHook hook, void* argument) {
  std::erase(hooks, Hook{hook, argument});
  ++hooks_changed;
}

void begin_polled_wait() noexcept {
  ++polled_waits;
  set_pace();
}
void end_polled_wait() noexcept {
  --polled_waits;
  set_pace();
}

bool needs_polling() noexcept {
  const Engine* state = engine();
  return polled_waits > 0 || !hooks.empty() || (state != nullptr && !state->busy.empty());
}

void wake_waiting() noexcept {
  if (sleeping_waits != 0) engine()->sleeper->wake();
}

bool more_processes_than_cores() noexcept {
  const Engine* state = engine();
  return state == nullptr || state->oversubscribed;
}

unsigned looks_before_progress() noexcept { return more_processes_than_cores() ? kLooksShared : kLooksAlone; }

void set_pace() noexcept {
  const unsigned spins_shared = polled_waits > 0 ? kSpinSharedPolled : kSpinShared;
  const auto chosen = static_cast<unsigned>(knobs().spin_rounds);
  spin_rounds = chosen != 0 ? chosen : more_processes_than_cores() ? spins_shared : kSpinAlone;
}

void Backoff::pause_longer() {
  const Engine* state = engine();
  const unsigned yields = more_processes_than_cores() ? kYieldsShared : kYieldsAlone;
  // Something waits for room at a peer, or for a condition: no doorbell tells when it is there.
  const bool may_sleep = state != nullptr && state->sleeper != nullptr && state->busy.empty() && polled_waits == 0;
  if (rounds_ < spin_rounds + yields || !may_sleep) {
    const int depth = LibraryLock::suspend();
    ::sched_yield();
    LibraryLock::resume(depth);
    return;
  }
  const double seconds = LibraryLock::enabled() ? kSleepBesideThreads : hooks.empty() ? kSleepSeconds : kSleepWithHooks;
  transport::Transport* sleeper = state->sleeper;
  const auto armed = sleeper->arm();
  if (!armed) return LibraryLock::yield();
  ++sleeping_waits;
  const int depth = LibraryLock::suspend();
  sleeper->sleep(*armed, seconds);
  LibraryLock::resume(depth);
  --sleeping_waits;
}

}  // namespace hr::p2p
