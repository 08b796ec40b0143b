// Progress and waiting.
//
// Every wait ends: successfully, or with an error if it can no longer complete (process_failure.hpp). Waits for one
// message also end if the other process, on this host, has left MPI (end_if_others_left() in p2p.hpp).
//
// poll() runs one round: transports, pending sends, long copies, then the registered hooks (collective schedules,
// device events). wait_until() spins, then yields, then sleeps on the doorbell. How long it does each depends on the
// competition for the core: it yields soon if other ranks or threads wait, and sleeps soon if it competes with other
// programs (docs/adr/0018-yielding.md). Calls of a program that polls (MPI_Test, MPI_Iprobe) are paced in the same way,
// once many of them in close succession have found nothing.
//
// Both let other threads of the process in: wait_until() between rounds, poll() while it makes a long copy
// (shared_copy.hpp). So a caller of poll() must leave no operation in an intermediate state, and must recheck
// everything that it knew before. No round is started during a delivery (transport.hpp).
#pragma once

#include <atomic>
#include <type_traits>
#include <vector>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "base/status.hpp"
#include "p2p/wait/oversubscription.hpp"
#include "p2p/wait/shared_cpus.hpp"

namespace hr::p2p {

class Request;

// Runs a round; true if something moved.
bool poll();

// Polls for a probe, which only tests whether a message has arrived. Calls deliver_beside_thread() if a progress thread
// is watching, even if the thread has made a round since the last call; else poll_for_test().
void poll_for_probe();
// Delivers arrived messages, and wakes the progress thread for the rest, because long copies and hooks would cost the
// program time. Calls poll() instead if many such calls in a row have found no round by the thread. Call it while
// the thread is watching, after progress_thread::take_round().
void deliver_beside_thread();

// Adds a hook, which runs in every poll() until removed and returns true if it moved something. The same function and
// argument run once per round, however often they are added; each addition wakes a watching progress thread for the new
// work. For the layers above.
using ProgressHook = bool (*)(void* argument);
void add_hook(ProgressHook hook, void* argument);
void remove_hook(ProgressHook hook, void* argument);

// Begin and end a polled wait. While one is pending, waiting loops poll and do not sleep: the event that ends such a
// wait (on a device, in shared memory) rings no doorbell.
void begin_polled_wait() noexcept;
void end_polled_wait() noexcept;

// Wakes threads of this process that wait for an action of this thread that no message announces.
void wake_waiting() noexcept;

// True if pending work can complete without an incoming message.
[[nodiscard]] bool needs_polling() noexcept;
// True if one hook is all such work.
[[nodiscard]] bool needs_one_hook() noexcept;

// A polled wait, held while its owner has pending work.
class PolledWait {
 public:
  void hold(bool any) noexcept {
    if (any != held_) (any ? begin_polled_wait : end_polled_wait)();
    held_ = any;
  }

 private:
  bool held_ = false;
};

// True if processes outnumber the node's cores, or the CPUs to which they are confined.
[[nodiscard]] bool node_oversubscribed() noexcept;
// The same for a decision that stays: all processes that have sent a message count with their CPUs.
[[nodiscard]] bool node_oversubscribed_for_good() noexcept;

// Returns how often a waiting loop may read a word in shared memory before it must make progress on everything else:
// for a microsecond or so if this process has its own core, hardly at all if processes outnumber cores.
[[nodiscard]] unsigned spins_before_progress() noexcept;

// State of progress and waiting, reset for each engine by begin_progress(). Process-wide, and not in the engine, as a
// waiting loop reads it in every round. Threads: library lock.
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
  int waiting_threads = 0;  // accessed by std::atomic_ref
  // Share of the cores that the node's processes may use together, or the number of usable cores if that is smaller;
  // accessed by std::atomic_ref.
  int own_cores = 1;
  // Multiplies the intervals after which a wait polls again. Each poll is short, but the polls of hundreds of processes
  // on one core add up.
  double patience = 1;

  // Pacing, set by set_spin_limits(): rounds that a waiting loop spins before pause_longer() decides, and fruitless
  // test calls between two pauses.
  unsigned spin_rounds = 0;
  unsigned calls_before_pause = ~0U;
  // Fruitless test calls (TestPacing).
  unsigned in_vain = 0;
  unsigned pauses = 0;  // number of pauses in a row
  double since = 0;
  // Competition for the core.
  oversubscription::Found found;
  shared_cpus::Found shared_cpus;
};
inline constinit Progress progress;
// Number of threads that have waited on channels other than 0 for more than a moment (channel.hpp). Threads: any.
alignas(64) inline constinit std::atomic<int> waiting_on_channels{0};
// True if processes outnumber the node's cores, or if the waiting threads outnumber this process's cores. Threads: any.
[[nodiscard]] bool cores_are_shared() noexcept;
// Forgets the state of an earlier engine.
void begin_progress();

void set_spin_limits() noexcept;
// Number of the node's cores.
[[nodiscard]] int online_cores() noexcept;
// Returns this process's share of the cores that these processes share, or the number of its usable cores if that is
// smaller.
[[nodiscard]] int share_of_cores(int processes, int cores) noexcept;
// Sets own_cores and patience for processes that share these cores.
void count_cores(int processes, int cores) noexcept;
// Returns own_cores. Threads: any.
[[nodiscard]] inline int own_cores() noexcept {
  return std::atomic_ref(progress.own_cores).load(std::memory_order_relaxed);
}

// Paces one waiting loop, which calls pause() after each round. A wait that becomes long is counted
// (base/counters.hpp).
class Backoff {
 public:
  // `request`: the request that is waited for; null if the wait is for something else.
  // A long wait ends the request once its other process has left MPI (p2p.hpp).
  explicit Backoff(Request* request = nullptr) noexcept : request_(request) {
    if (LibraryLock::enabled()) [[unlikely]]
      begin_thread();
  }
  ~Backoff() {
    if (ends_) [[unlikely]]
      end();
  }
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;

  // Called after a round of progress; `moved` restarts the spinning.
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
  // True once many rounds have moved nothing.
  [[nodiscard]] bool is_long() const noexcept { return rounds_ >= progress.spin_rounds; }

 private:
  // Number of rounds without pauses, so that a message that arrives soon is seen immediately.
  static constexpr unsigned kClose = 64;
  // Pauses, and lets other threads in, but only once the sleeper is armed, as they may handle the message that the
  // caller waits for.
  void pause_longer();
  [[nodiscard]] bool naps() const noexcept;
  // Counts this thread as waiting: if more threads wait than this process has cores, they take turns.
  void begin_thread() noexcept;
  void begin_long() noexcept;
  void end() noexcept;

  Request* request_;
  unsigned rounds_ = 0;
  int whom_ = -1;
  bool counted_ = false;  // this thread is counted as waiting
  bool timed_ = false;
  bool ends_ = false;  // the end must be reported: the thread is counted, or the wait is timed
};

// Waits for a condition that also becomes true when a process fails, as the completion of a request does
// (process_failure.hpp), or that depends on no other process. Always returns kOk.
template <class Condition>
Status wait_until(Condition&& condition, Request* request = nullptr) {
  if (condition()) return kOk;
  Backoff backoff(request);
  do backoff.pause(poll());
  while (!condition());
  return kOk;
}

// True if processes have failed or contexts have ended, so that waits must check whether they can still complete.
[[nodiscard]] bool any_failures() noexcept;

// Waits for any other condition: can_complete(), called once there have been failures, returns an error if the wait can
// no longer complete.
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

// Paces the calls of a program that tests in a loop. Only calls in close succession count as waiting: a program that
// computes between them is never delayed. Owner: process-wide. Threads: library lock.
class TestPacing {
 public:
  static void found() noexcept { progress.in_vain = progress.pauses = 0; }
  // True if it is time to pause.
  [[nodiscard]] static bool should_pause() noexcept { return ++progress.in_vain >= progress.calls_before_pause; }
  // Pauses if the program waits; other threads may enter during the pause. True if messages have arrived.
  static bool pause();
};

// Makes the round of a test call; true if something moved. known(): true if the call has its answer.
template <class Known>
bool poll_for_test(Known&& known) {
  if (poll()) {
    TestPacing::found();
    return true;
  }
  return TestPacing::should_pause() && !known() && TestPacing::pause();
}

}  // namespace hr::p2p
