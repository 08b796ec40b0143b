// Exclusion: how updates of one process's memory keep out of each other's way (atomic.hpp).
//
// Where this process alone updates it (memory that nobody else has mapped), nothing is to be done: the library lock is
// held. Where others of the host have mapped it, too:
//   short updates   the processor's atomic instructions, element by element. For their length the process says in its
//   own
//                   `updating` whose memory it is at
//   long updates    plain loops over a vector, with all others kept out: the target's `long_update` is set, a process
//                   barrier makes everybody see it (base/process_barrier.hpp), and who still is at a short one is
//                   awaited. A short one costs a store, a load and a store for that, and no fence
//   locked updates  what the processor has no atomic instructions for: under the target's `accumulate`, which long ones
//                   hold, too
// All are short enough to be waited for without progress. Who holds one of the words may have lost its core.
// Threads: one of a process at a time (library lock).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "rma/lock_word.hpp"

namespace hr::rma {

struct Exclusion {
  Control* target = nullptr;
  Control* own = nullptr;
  std::span<Control> all{};  // of those who may update it by themselves; empty: this process alone
  bool by_barrier = false;   // process barriers work: there are long updates

  [[nodiscard]] bool alone() const noexcept { return all.empty(); }
  // What `updating` says of the target.
  [[nodiscard]] std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(target - all.data()) + 1; }
};

class ShortUpdate {
 public:
  explicit ShortUpdate(const Exclusion& exclusion) noexcept : exclusion_(exclusion) {
    if (!exclusion.by_barrier) return;
    announce();
    if (exclusion.target->long_update.load(std::memory_order_acquire) != 0) [[unlikely]]
      let_long_pass();
  }
  ~ShortUpdate() {
    if (exclusion_.by_barrier) exclusion_.own->updating.store(0, std::memory_order_release);
  }
  ShortUpdate(const ShortUpdate&) = delete;
  ShortUpdate& operator=(const ShortUpdate&) = delete;

 private:
  void announce() noexcept {
    exclusion_.own->updating.store(exclusion_.number(), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the other side's barrier is the rest of it
  }
  void let_long_pass() noexcept;

  const Exclusion& exclusion_;
};

class LockedUpdate {
 public:
  explicit LockedUpdate(const Exclusion& exclusion) noexcept;
  ~LockedUpdate();
  LockedUpdate(const LockedUpdate&) = delete;
  LockedUpdate& operator=(const LockedUpdate&) = delete;

 private:
  const Exclusion& exclusion_;
};

class LongUpdate {
 public:
  explicit LongUpdate(const Exclusion& exclusion) noexcept;
  ~LongUpdate();
  LongUpdate(const LongUpdate&) = delete;
  LongUpdate& operator=(const LongUpdate&) = delete;
  // False: others are not kept out, update as a short one.
  [[nodiscard]] bool alone() const noexcept { return alone_; }

 private:
  LockedUpdate lock_;
  const Exclusion& exclusion_;
  bool alone_ = false;
};

}  // namespace hr::rma
