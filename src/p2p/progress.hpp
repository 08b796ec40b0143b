// Progress and waiting.
//
// Every wait ends: with what it waits for, or with an error if that cannot come any more (process_failure.hpp).
//
// poll() runs one round: transports, pending sends, long copies, then the registered hooks (collective schedules,
// device events). wait_until() spins, then yields, then sleeps on the doorbell. How long it does each depends on the
// competition for the core: other ranks or threads that wait (it yields soon), a load of other programs (it sleeps
// soon), or none (docs/adr/0018-yielding.md). Calls of a program that polls by itself (MPI_Test, MPI_Iprobe) are paced
// alike, once many of them in close succession have found nothing.
//
// Both let other threads of the process in: wait_until() between rounds, poll() while it makes a long copy
// (shared_copy.hpp). So a caller of poll() has nothing half done, and looks again at everything that it knew before. No
// round is begun within a delivery (transport.hpp).
#pragma once

#include <type_traits>
#include <vector>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "base/status.hpp"
#include "p2p/oversubscription.hpp"

namespace hr::p2p {

class Request;

// True if something moved.
bool poll();

// Polls for a probe, which only asks whether something is there: deliver_beside_thread() if a progress thread watches,
// whether or not it has made a round for it; else poll_for_test().
void poll_for_probe();
// For calls made while a progress thread watches, which have called progress_thread::take_round(): delivers what has
// arrived, and wakes the thread for the rest, as long copies and hooks would take the program's time. Calls poll()
// instead if many such calls in a row have found no round of the thread.
void deliver_beside_thread();

// Adds a hook, which runs in every poll() until removed and returns true if it moved something. The same function and
// argument run once a round, however often they are added; each time a watching progress thread is woken for the new
// work. For layers above.
using ProgressHook = bool (*)(void* argument);
void add_hook(ProgressHook hook, void* argument);
void remove_hook(ProgressHook hook, void* argument);

// While at least one is pending, waiting loops poll and do not sleep: the event that ends such a wait (a device, a word
// in shared memory) rings no doorbell.
void begin_polled_wait() noexcept;
void end_polled_wait() noexcept;

// Wakes threads of this process that wait for something that this thread has done and that no message announces.
void wake_waiting() noexcept;

// True if pending work can complete without an incoming message.
[[nodiscard]] bool needs_polling() noexcept;

// One polled wait, held for as long as its owner has anything pending.
class PolledWait {
 public:
  void hold(bool any) noexcept {
    if (any != held_) (any ? begin_polled_wait : end_polled_wait)();
    held_ = any;
  }

 private:
  bool held_ = false;
};

// True if the node was oversubscribed when the library came up.
[[nodiscard]] bool node_oversubscribed() noexcept;

// How often a waiting loop may look at a word in shared memory before it must make progress on everything else: for a
// microsecond or so if this process has a core to itself, hardly at all if processes outnumber cores.
[[nodiscard]] unsigned spins_before_progress() noexcept;

// State of progress and waiting: made anew with each engine, by begin_progress(). Process-wide, and not in the engine,
// since a waiting loop looks at it in every round. Threads: library lock. Once there are channels, hooks and their
// counts are a channel's, and the rest a thread's.
struct Progress {
  struct Hook {
    ProgressHook function;
    void* argument;
    bool operator==(const Hook&) const = default;
  };
  std::vector<Hook> hooks;
  unsigned hooks_changed = 0;  // a running hook may add or remove hooks, itself included
  int polled_waits = 0;
  int sleeping_waits = 0;
  int waiting_threads = 0;
  int own_cores = 1;  // this process's share of the node's, as far as it may use them

  // Pacing, kept by set_spin_limits(): rounds that a waiting loop spins before pause_longer() decides, and calls that
  // ask in vain between two pauses.
  unsigned spin_rounds = 0;
  unsigned calls_before_pause = ~0U;
  // Calls that ask (TestPacing).
  unsigned in_vain = 0;
  unsigned pauses = 0;  // in a row
  double since = 0;
  // Competition for the core.
  oversubscription::Found found;
};
inline constinit Progress progress;
// Forgets the state of an earlier engine.
void begin_progress();

void set_spin_limits() noexcept;
// Called once the engine is there, before set_spin_limits().
void count_cores() noexcept;

// Paces one waiting loop: call after each fruitless round. A wait that becomes long is counted (base/counters.hpp).
class Backoff {
 public:
  // `request`: the one waited for; null: anything else.
  explicit Backoff(const Request* request = nullptr) noexcept : request_(request) {
    if (LibraryLock::enabled()) [[unlikely]]
      begin_thread();
  }
  ~Backoff() {
    if (ends_) [[unlikely]]
      end();
  }
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;

  // After a round of progress; `moved` restarts the spinning.
  void pause(bool moved) {
    if (moved) {
      rounds_ = 0;
    } else if (++rounds_ >= progress.spin_rounds) [[unlikely]] {
      return pause_longer();
    } else if (rounds_ >= kClose) {
      if (rounds_ == kClose) begin_long();
      spin_pause();
    }
    LibraryLock::yield();
  }

 private:
  // Number of rounds without pauses, so that a message that comes at once is seen at once.
  static constexpr unsigned kClose = 64;
  // Lets other threads in itself, but not before it is armed: they may take the message that the caller waits for.
  void pause_longer();
  // Counts the waiting threads: more of them than this process has cores take turns.
  void begin_thread() noexcept;
  void begin_long() noexcept;
  void end() noexcept;

  const Request* request_;
  unsigned rounds_ = 0;
  int whom_ = -1;
  bool counted_ = false;  // among the threads that wait
  bool timed_ = false;
  bool ends_ = false;  // counted or timed
};

// Waits for something that ends by itself when a process fails, as all requests do (process_failure.hpp), or that needs
// no other process: the status is always kOk.
template <class Condition>
Status wait_until(Condition&& condition, const Request* request = nullptr) {
  if (condition()) return kOk;
  Backoff backoff(request);
  do backoff.pause(poll());
  while (!condition());
  return kOk;
}

// True if processes have failed or contexts ended: waits have to ask whether theirs has come to nothing.
[[nodiscard]] bool any_failures() noexcept;

// Waits for anything else: can_complete(), called once there have been failures, returns an error if the wait can no
// longer complete.
template <class Condition, class CanComplete>
  requires std::is_invocable_v<CanComplete>
Status wait_until(Condition&& condition, CanComplete&& can_complete) {
  if (condition()) return kOk;
  Backoff backoff;
  for (;;) {
    backoff.pause(poll());
    if (condition()) return kOk;
    if (any_failures()) [[unlikely]]
      HR_TRY(can_complete());
  }
}

// Paces the calls of a program that asks in a loop. Only calls in close succession count as waiting: a program that
// computes in between is never held up. Owner: process-wide. Threads: library lock.
class TestPacing {
 public:
  static void found() noexcept { progress.in_vain = progress.pauses = 0; }
  // True if it is time to pause.
  [[nodiscard]] static bool should_pause() noexcept { return ++progress.in_vain >= progress.calls_before_pause; }
  // True if it has paused: other threads were let in, and messages may have come.
  static bool pause();
};

// Makes the round of a call that asks for something; true if something moved. known(): true if there is an answer.
template <class Known>
bool poll_for_test(Known&& known) {
  if (poll()) {
    TestPacing::found();
    return true;
  }
  return TestPacing::should_pause() && !known() && TestPacing::pause() && poll();
}

}  // namespace hr::p2p
