// Progress and waiting.
//
// poll() runs one round: transports, pending sends, long copies, then the registered hooks (collective schedules,
// device events). wait_until() spins, then yields, then sleeps on the doorbell (design section 7).
//
// Both let other threads of the process in: wait_until() between rounds, poll() while it makes a long copy
// (shared_copy.hpp). So whoever calls poll() has nothing half done, and looks again at everything that it knew before.
// No round is begun in the midst of a delivery (transport.hpp).
#pragma once

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "base/status.hpp"

namespace hr::p2p {

// True when something moved.
bool poll();

// For probes, which only ask whether something is there: deliver_beside_thread() where a progress thread
// watches, whether or not it has made a round for them; else poll().
void poll_briefly();
// Where a thread watches, for who has asked progress_thread::take_round() in this call: delivers what has arrived, and
// leaves the rest to the thread, which is woken for it, since long copies and hooks would take the program's time.
// Where the thread has had no turn for many such calls, poll().
void deliver_beside_thread();

// A hook runs in every poll() until removed; returns true when it moved something. The same function and argument
// is called once a round, however often it is added; each time a progress thread that watches is woken for what there
// is to do. For layers above.
using ProgressHook = bool (*)(void* argument);
void add_hook(ProgressHook hook, void* argument);
void remove_hook(ProgressHook hook, void* argument);

// While at least one is under way, waiting loops poll and do not sleep: what ends such a wait (a device, a word in
// shared memory) rings no doorbell.
void begin_polled_wait() noexcept;
void end_polled_wait() noexcept;

// Ends the sleep of threads of this process that wait for what this one has done, of which no message tells them.
void wake_waiting() noexcept;

// What is under way may end without a message from another process.
[[nodiscard]] bool needs_polling() noexcept;

// One polled wait, held for as long as its owner has anything under way.
class PolledWait {
 public:
  void hold(bool any) noexcept {
    if (any != held_) (any ? begin_polled_wait : end_polled_wait)();
    held_ = any;
  }

 private:
  bool held_ = false;
};

// On this node, as it was when the library came up.
[[nodiscard]] bool more_processes_than_cores() noexcept;

// How often a waiting loop may look at a word in shared memory before it must make progress on everything else: a
// microsecond or so where this process has a core to itself, hardly ever where processes outnumber cores.
[[nodiscard]] unsigned looks_before_progress() noexcept;

// Rounds that a waiting loop spins before pause_longer() decides; kept by progress.cpp.
inline unsigned spin_rounds = 0;
// Called once the engine is there.
void set_pace() noexcept;

// Paces one waiting loop: call after each fruitless round.
class Backoff {
 public:
  // After a round of progress; `moved` restarts the spinning.
  void pause(bool moved) {
    if (moved) {
      rounds_ = 0;
    } else if (++rounds_ >= spin_rounds) [[unlikely]] {
      return pause_longer();
    } else if (rounds_ >= kClose) {
      spin_pause();
    }
    LibraryLock::yield();
  }

 private:
  // A message that comes at once is seen at once: so many rounds are not slowed down by pauses.
  static constexpr unsigned kClose = 64;
  // Lets others in itself, and not before it is armed: they may take the message that the caller waits for.
  void pause_longer();

  unsigned rounds_ = 0;
};

template <class Condition>
void wait_until(Condition&& condition) {
  Backoff backoff;
  while (!condition()) backoff.pause(poll());
}

}  // namespace hr::p2p
