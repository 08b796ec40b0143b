// Doorbell: shows a process with many peers which of them have sent messages, and lets its threads sleep.
//
// Each process has one, in shared memory. `connected` and `pending` have one bit per sender on the node. With few
// processes on the node (kDirectPollLimit) the receiver polls the rings of all connected senders and `pending` is not
// used, so that the sender's fast path is one read of `state`.
//
// `state` has two halves: the low one, which is all that ring() tests, holds the number of the owner's armed threads
// and two flags; the high one holds the number of rings so far, and is the word on which sleepers wait.
// - arm() counts its thread among the armed and notes the rings so far, in one step. The thread checks once more for
//   arrivals, and sleeps only if there has been no ring since.
// - wake(), called by a sender or by a thread of the owner, wakes nobody if no thread is armed. Otherwise it adds one
//   ring and clears the armed count, in one step, and then ends the sleep of all. Every thread that was armed, asleep
//   or about to sleep, finds a different number; further senders find no thread armed and make no system call.
// - disarm() removes its thread from the count if the thread is still counted: if there has been no ring since it
//   armed.
// So no thread hides another one from the senders, and no ring is lost between a check and the sleep after it. A sleep
// may end spuriously, by a ring meant for threads that armed earlier.
//
// Memory order: a sender publishes its message, then reads `state`; a thread that arms writes `state`, then checks for
// arrivals. At least one of the two must see the other's store. While the owner does not sleep, senders need no fence
// for this, because the first thread to arm sets kFenced and issues a barrier in all processes (membarrier). The
// barrier interrupts all cores of the machine, for one caller at a time, so the owner does not repeat it: once the
// barrier is over, the owner sets kSettled. From then on all senders see kFenced, and issue a fence of their own. A
// sender that has issued kMostFences of them in vain clears both flags, so that a process that no longer sleeps costs
// its senders nothing. In the same step it adds a ring, so that a thread whose barrier is still in progress does not
// set kSettled. wake() releases and disarm() acquires, so that a woken thread sees the message for which it was woken.
// The sleep is limited to kBlindSleepSeconds instead if there is no membarrier. The count of rings wraps after 2^32: a
// thread that stayed between its check and its sleep for exactly that many rings would sleep until its timeout. Owner:
// the process, which never destroys it; the memory is the segment's. Threads: announce(), ring() and wake() may be
// called by any thread of any process; arm(), sleep() and disarm() by any thread of the owner, without the library
// lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hr::transport::shm {

inline constexpr int kDirectPollLimit = 16;
inline constexpr double kBlindSleepSeconds = 200e-6;

struct Doorbell {
  static constexpr std::uint64_t kFenced = std::uint64_t{1} << 31;   // senders issue a fence before they read the count
  static constexpr std::uint64_t kSettled = std::uint64_t{1} << 30;  // all senders see kFenced
  static constexpr std::uint32_t kMostFences = 1U << 16;

  // Low half: threads armed, kFenced, kSettled; high half, the futex: rings.
  alignas(128) std::atomic<std::uint64_t> state;
  std::atomic<std::uint32_t> connections;  // number of bits set in `connected`; grows only
  std::atomic<std::int32_t> pid;           // pid of the owner; set when it attaches, after the two members below
  // Address at which the owner keeps a random number, and that number. If a process reads another number there, `pid`
  // is another process in the reader's pid namespace, because the owner is in a different one.
  std::atomic<std::uint64_t> pid_probe_address;
  std::atomic<std::uint64_t> pid_probe;
  std::atomic<std::uint32_t> left;  // nonzero: the owner receives no more messages
  std::atomic<std::uint64_t> cpus;  // number of the set of the owner's CPUs (Transport::tell_cpus()); 0: not reported
  // Number of channels that the owner uses (Transport::offer_channels()); does not change once its job communicates.
  std::atomic<std::uint32_t> channels;
  std::atomic<std::uint64_t> cpu_bits[16];  // the set itself, written before its number
  // Two bitmaps of words() words each follow: `connected`, then `pending`.

  static std::size_t words(int processes) noexcept { return (static_cast<std::size_t>(processes) + 63) / 64; }
  static std::size_t footprint(int processes) noexcept;
  std::atomic<std::uint64_t>* connected() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
  std::atomic<std::uint64_t>* pending(int processes) noexcept { return connected() + words(processes); }

  // Called by senders.
  void announce(int sender) noexcept;
  void ring() noexcept {
    if (static_cast<std::uint32_t>(state.load(std::memory_order_relaxed)) != 0) [[unlikely]]
      wake();
  }
  void wake() noexcept;

  // Called by the owner: arm(), a check for arrivals, sleep() if there are none, disarm(). `rings`: the result of
  // arm(), the number of rings so far.
  [[nodiscard]] std::uint32_t arm() noexcept;
  void sleep(std::uint32_t rings, double at_most_seconds) noexcept;
  void disarm(std::uint32_t rings) noexcept;

  static std::uint32_t armed_in(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state & ~(kFenced | kSettled));
  }
  static std::uint32_t rings_in(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state >> 32); }

 private:
  void make_senders_fence(std::uint32_t rings) noexcept;
};

// Registers this process for membarrier, for its lifetime, so that its sends need no fence. Remembers whether the
// system supports membarrier.
void register_barrier() noexcept;

}  // namespace hr::transport::shm
