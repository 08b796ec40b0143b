// Doorbell: how a process with many peers learns who wrote, and how its threads sleep.
//
// One a process, in shared memory. `connected` and `pending` have one bit a sender of the node. With few processes
// on the node (kDirectPollLimit) the receiver polls the rings of all connected senders and `pending` is not used:
// the sender's fast path is then one read of `state`.
//
// `state` holds two numbers: how many threads of the owner are armed, which is all that senders look at, and how often
// the doorbell has been rung, which is the word that sleepers wait on.
// - arm() counts its thread among the armed and notes the rings so far, in one step. The thread looks once more at what
//   has arrived, and sleeps only while there has been no ring since.
// - wake(), by a sender or by a thread of the owner, does nothing where nobody is armed. Else it counts one ring more
//   and nobody armed any more, in one step, and then ends the sleep of all. Whoever was armed, asleep or about to be,
//   finds another number; further senders find nobody armed and make no system call.
// - disarm() takes its thread back where it is still counted: where there has been no ring since it armed.
// So what one thread does hides no other one from the senders, and no ring is lost between a look and the sleep after
// it. A sleep may end without a ring of its own: that of those who armed before is still on its way.
// Memory order: a sender publishes its message, then reads `state`; a thread that arms writes `state`, issues a
// process-wide barrier (membarrier, so that senders need no fence), then looks: one of the two sees the other. wake()
// releases and disarm() acquires, so that who was rung sees what it was rung for. Where the system has no membarrier
// the sleep is bounded by kBlindSleepSeconds instead.
// The count of rings comes round after 2^32, which would deceive a thread that stood between its look and its sleep all
// the while, until its sleep has lasted as long as it may.
// Owner: the process, which never destroys it; the memory is the segment's. Threads: announce(), ring() and wake() any
// of any process; arm(), sleep() and disarm() any of the owner, without the library lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hr::transport::shm {

inline constexpr int kDirectPollLimit = 16;
inline constexpr double kBlindSleepSeconds = 200e-6;

struct Doorbell {
  alignas(128) std::atomic<std::uint64_t> state;  // low half: threads armed; high half, the futex: rings
  std::atomic<std::uint32_t> connections;         // number of bits set in `connected`; grows only
  std::atomic<std::int32_t> pid;                  // of the owner; set when it attaches, after the two below
  // Where the owner keeps a random number, and that number: who reads another one there has not reached the owner, but
  // a process that has its number elsewhere (in another pid namespace).
  std::atomic<std::uint64_t> witness_address;
  std::atomic<std::uint64_t> witness;
  std::atomic<std::uint32_t> left;  // not zero: the owner takes no more messages
  // Two bitmaps of words() words each follow: connected, then pending.

  static std::size_t words(int processes) noexcept { return (static_cast<std::size_t>(processes) + 63) / 64; }
  static std::size_t footprint(int processes) noexcept;
  std::atomic<std::uint64_t>* connected() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
  std::atomic<std::uint64_t>* pending(int processes) noexcept { return connected() + words(processes); }

  // Sender's side.
  void announce(int sender) noexcept;
  void ring() noexcept {
    if (armed_in(state.load(std::memory_order_relaxed)) != 0) [[unlikely]]
      wake();
  }
  void wake() noexcept;

  // Owner's side: arm(), a look at what has arrived, sleep() where nothing has, disarm(); both with what arm()
  // returned, the rings so far.
  [[nodiscard]] std::uint32_t arm() noexcept;
  void sleep(std::uint32_t rings, double at_most_seconds) noexcept;
  void disarm(std::uint32_t rings) noexcept;

  static std::uint32_t armed_in(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state); }
  static std::uint32_t rings_in(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state >> 32); }
};

// Registers this process, for as long as it lives, as one whose sends need no fence; remembers whether the system can.
void register_barrier() noexcept;
[[nodiscard]] bool has_barrier() noexcept;

}  // namespace hr::transport::shm
