// Exclusion: keeps updates of one process's memory out of each other's way (atomic.hpp).
//
// If this process alone updates it (memory that no other process has mapped), nothing needs to be done, as the library
// lock is held. If others of the host have mapped it, too:
//   short updates   the processor's atomic instructions, element by element. Meanwhile the process's own `updating`
//                   names the owner of the memory
//   by lock         updates for which the processor has no atomic instructions, under the target's `accumulate`. And
//                   all updates, once vectors have been updated there for some bytes: then a lock and a plain loop are
//                   cheaper. The first process to see that sets the target's `by_lock`, for good; a process barrier
//                   shows it to all others (base/process_barrier.hpp), and short updates under way are waited for.
//                   This costs a short update a store, a load and a store, but no fence
// All are short enough to be waited for without progress. The holder of one of the words may have lost its core.
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
  std::span<Control> all{};  // of the processes that may update it by themselves; empty: this process alone
  bool by_barrier = false;   // process barriers work: `by_lock` may come to be set

  [[nodiscard]] bool alone() const noexcept { return all.empty(); }
  // Returns the number of the target in `updating`.
  [[nodiscard]] std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(target - all.data()) + 1; }
};

class ShortUpdate {
 public:
  explicit ShortUpdate(const Exclusion& exclusion) noexcept : exclusion_(exclusion) {
    if (!exclusion.by_barrier) return;
    announce();
    if (exclusion.target->by_lock.load(std::memory_order_acquire) != 0) [[unlikely]]
      lock();
  }
  ~ShortUpdate() {
    if (!exclusion_.by_barrier) return;
    if (locked_) [[unlikely]]
      unlock();
    else
      exclusion_.own->updating.store(0, std::memory_order_release);
  }
  ShortUpdate(const ShortUpdate&) = delete;
  ShortUpdate& operator=(const ShortUpdate&) = delete;

 private:
  void announce() noexcept {
    exclusion_.own->updating.store(exclusion_.number(), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the other side's barrier does the rest
  }
  void lock() noexcept;
  void unlock() noexcept;

  const Exclusion& exclusion_;
  bool locked_ = false;
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

// For a vector of that size in bytes; 0: for one element.
class VectorUpdate {
 public:
  VectorUpdate(const Exclusion& exclusion, std::size_t bytes) noexcept;
  ~VectorUpdate();
  VectorUpdate(const VectorUpdate&) = delete;
  VectorUpdate& operator=(const VectorUpdate&) = delete;
  // True if all others are kept out. False: they are not, update it by short ones.
  [[nodiscard]] bool alone() const noexcept { return alone_; }

 private:
  bool set_by_lock() noexcept;

  const Exclusion& exclusion_;
  bool alone_ = false;
};

}  // namespace hr::rma
