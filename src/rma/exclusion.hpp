// Exclusion: makes updates of one process's memory exclude each other (atomic.hpp).
//
// If only this process updates the memory (no other process has mapped it), the library lock is sufficient. If other
// processes on the host have also mapped the memory:
//   short updates   use the processor's atomic instructions, element by element. Meanwhile the updating process's
//                   `updating` names the owner of the memory
//   by lock         updates for which the processor has no atomic instructions hold the target's `accumulate`. So do
//                   all updates, once vectors of a certain total size have been updated there, because a lock and a
//                   plain loop are then cheaper. The first process that detects this sets the target's `by_lock`
//                   permanently, makes it visible to all others with a process barrier (base/process_barrier.hpp), and
//                   waits for pending short updates. This costs a short update two stores and a load, but no fence
// All updates are short enough to wait for without making progress. The holder of a word may have been descheduled, so
// waiting yields the core.
//
// Threads: those of a process exclude each other by the library lock, or by `threads` if calls may update the memory
// without the library lock (quick.hpp). Updates that the processor's instructions or the target's `accumulate` make
// exclusive among processes are so among threads, too; the others hold `threads`: plain updates of memory that no other
// process has mapped, and short updates that write `updating`.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/spin_lock.hpp"
#include "rma/lock_word.hpp"

namespace hr::rma {

struct Exclusion {
  Control* target = nullptr;
  Control* own = nullptr;
  std::span<Control> all{};  // words of processes that may update the target directly; empty if only this process may
  bool by_barrier = false;   // process barriers work, so `by_lock` may be set
  SpinLock* threads = nullptr;  // null: the library lock excludes other threads

  [[nodiscard]] bool alone() const noexcept { return all.empty(); }
  // Returns the number of the target in `updating`.
  [[nodiscard]] std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(target - all.data()) + 1; }
};

// Holds a lock if there is one.
class HeldIf {
 public:
  explicit HeldIf(SpinLock* lock) noexcept : lock_(lock) {
    if (lock_ != nullptr) [[unlikely]]
      lock_->lock();
  }
  ~HeldIf() {
    if (lock_ != nullptr) [[unlikely]]
      lock_->unlock();
  }
  HeldIf(const HeldIf&) = delete;
  HeldIf& operator=(const HeldIf&) = delete;
  void release() noexcept {
    if (lock_ != nullptr) lock_->unlock();
    lock_ = nullptr;
  }

 private:
  SpinLock* lock_;
};

class ShortUpdate {
 public:
  explicit ShortUpdate(const Exclusion& exclusion) noexcept
      : exclusion_(exclusion), held_(exclusion.by_barrier || exclusion.alone() ? exclusion.threads : nullptr) {
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
    std::atomic_signal_fence(std::memory_order_seq_cst);  // suffices because of the process barrier in set_by_lock()
  }
  void lock() noexcept;
  void unlock() noexcept;

  const Exclusion& exclusion_;
  const HeldIf held_;
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
  const HeldIf held_;
};

// Update of a vector of `bytes` bytes; 0: of a single element.
class VectorUpdate {
 public:
  VectorUpdate(const Exclusion& exclusion, std::size_t bytes) noexcept;
  ~VectorUpdate();
  VectorUpdate(const VectorUpdate&) = delete;
  VectorUpdate& operator=(const VectorUpdate&) = delete;
  // True if all other updates are excluded. If false, the vector must be updated with short updates.
  [[nodiscard]] bool alone() const noexcept { return alone_; }

 private:
  bool takes_lock(std::size_t bytes) noexcept;
  bool set_by_lock() noexcept;

  const Exclusion& exclusion_;
  HeldIf held_;
  bool alone_ = false;
};

}  // namespace hr::rma
