// Doorbell: how a process with many peers learns who wrote, and how it sleeps.
//
// One a process, in shared memory. `connected` and `pending` have one bit a sender of the node. With few processes
// on the node (kDirectPollLimit) the receiver polls the rings of all connected senders and `pending` is not used:
// the sender's fast path is then one read of `sleeping`.
// Memory order: a sender publishes its message, then reads `sleeping`; a receiver writes `sleeping`, issues a
// process-wide barrier (membarrier, so that senders need no fence), looks once more, then sleeps. Where the system
// has no membarrier the sleep is bounded by kBlindSleepSeconds instead.
// Several threads of the owner may sleep at a time. Only wake(), which ends the sleep of all, takes `sleeping` back
// then: a thread that did so by itself would hide the others from the senders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hr::transport::shm {

inline constexpr int kDirectPollLimit = 16;
inline constexpr double kBlindSleepSeconds = 200e-6;

struct Doorbell {
  alignas(128) std::atomic<std::uint32_t> sleeping;  // futex: 1 while the owner sleeps or is about to
  std::atomic<std::uint32_t> connections;            // number of bits set in `connected`; grows only
  std::atomic<std::int32_t> pid;                     // of the owner; set when it attaches
  // Two bitmaps of words() words each follow: connected, then pending.

  static std::size_t words(int processes) noexcept { return (static_cast<std::size_t>(processes) + 63) / 64; }
  static std::size_t footprint(int processes) noexcept;
  std::atomic<std::uint64_t>* connected() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
  std::atomic<std::uint64_t>* pending(int processes) noexcept { return connected() + words(processes); }

  // Sender's side.
  void announce(int sender) noexcept;
  void ring() noexcept {
    if (sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake();
  }
  void wake() noexcept;

  // Owner's side: arm(), a look at what has arrived, sleep_on(sleeping) where nothing has, disarm().
  void arm() noexcept;
  void disarm() noexcept;
};

// Registers this process as one whose sends need no fence; remembers whether the system can.
void register_barrier() noexcept;
[[nodiscard]] bool has_barrier() noexcept;
// Orders every earlier store of every registered process before what follows here.
void barrier() noexcept;
// Sleeps while *word == 1, at most `seconds`.
void sleep_on(std::atomic<std::uint32_t>& word, double seconds) noexcept;

}  // namespace hr::transport::shm
