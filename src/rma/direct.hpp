// Calls on windows that threads make without the library lock, if the process has channels (p2p/channel.hpp):
// operations on memory that this process loads and stores itself, on which no message depends, and the calls of passive
// target synchronization around them. Like those of quick.hpp, they detect no errors: if one returns false, nothing has
// happened, and the ordinary call follows under the library lock.
//
// Puts, gets and flushes share nothing that threads write. Updates and locks hold the window's own lock
// (Window::threads()), if at all, so that only threads that use one window wait for each other.
//
// Progress: the calls wait for nothing, and the library lock is only tried, occasionally, for a round of progress.
// Internal to rma/ and bind/. Threads: any; the program orders calls of its threads in one epoch, as MPI requires.
#pragma once

#include <atomic>

#include "base/abi.hpp"
#include "rma/quick.hpp"
#include "rma/window.hpp"

namespace hr::rma::direct {

// Makes progress for other processes occasionally, more often in calls with which a program may poll its own memory.
// `read`: as for quick::take_turn().
inline constexpr unsigned kCallsPerTurn = 256;
inline constexpr unsigned kReadsPerTurn = 32;
__attribute__((tls_model("initial-exec"))) inline constinit thread_local unsigned calls = 0;
[[gnu::cold, gnu::noinline]] void serve_others(bool polls);
inline void take_turn(bool polls) {
  calls += polls ? kCallsPerTurn / kReadsPerTurn : 1;
  if (calls >= kCallsPerTurn) [[unlikely]]
    serve_others(polls);
}
inline void take_turn(const Window& window, int read) { take_turn(read == window.own_rank_); }

// Returns a member whose memory is accessible, or nullptr.
inline Member* member_of(Window& window, int rank) noexcept {
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(window.size_)) return nullptr;
  Member& member = window.member(rank);
  return member.words != nullptr ? &member : nullptr;
}

inline bool flush(Window& window, int rank) noexcept {
  const Member* const member = member_of(window, rank);
  if (member == nullptr || (window.epoch_ != Epoch::kLockAll && member->lock == Member::Lock::kNone)) return false;
  quick::settle_stores();
  return true;
}

inline bool flush_all(const Window& window) noexcept {
  if (!window.direct_ || (window.epoch_ != Epoch::kLockAll && window.epoch_ != Epoch::kLock)) return false;
  quick::settle_stores();
  return true;
}

inline bool sync(const Window& window) noexcept {
  if (!window.direct_) return false;
  quick::stored = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

// False also if another process holds the lock: the caller then waits under the library lock.
inline bool lock(Window& window, int type, int rank, int assertion) noexcept {
  Member* const member = member_of(window, rank);
  const bool exclusive = type == abi::kLockExclusive;
  if (member == nullptr || member->control == nullptr || member->lock != Member::Lock::kNone || assertion != 0 ||
      (!exclusive && type != abi::kLockShared) || window.no_locks_ ||
      (window.epoch_ != Epoch::kLock && window.epoch_ != Epoch::kNone))
    return false;
  LockWord& word = member->control->lock;
  if (!(exclusive ? word.try_exclusive() : word.try_shared())) return false;
  member->lock = exclusive ? Member::Lock::kExclusive : Member::Lock::kShared;
  window.begin_lock();
  return true;
}

inline bool unlock(Window& window, int rank) noexcept {
  Member* const member = member_of(window, rank);
  if (member == nullptr || member->control == nullptr || window.epoch_ != Epoch::kLock) return false;
  const Member::Lock held = member->lock;
  const bool exclusive = held == Member::Lock::kExclusive;
  if (!exclusive && held != Member::Lock::kShared) return false;
  // Processes on other hosts may have asked this one for its lock, which only the ordinary call grants.
  if (rank == window.own_rank_ && !window.direct_) return false;
  quick::settle_stores();
  member->lock = Member::Lock::kNone;
  window.end_lock();
  member->control->lock.release(exclusive);
  return true;
}

}  // namespace hr::rma::direct
