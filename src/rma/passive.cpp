// Passive target: locks and flushes (MPI 5.0 sections 12.5.3 and 12.5.4).
#include <atomic>

#include "base/abi.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "rma/device.hpp"
#include "rma/epoch.hpp"
#include "rma/quick.hpp"
#include "rma/rma.hpp"
#include "rma/state.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

namespace {

using Lock = Member::Lock;

Status check_assertion(int assertion, const char* function) {
  if ((assertion & ~abi::kModeNocheck) == 0) return kOk;
  return fail(Errc::kAssert, "%s accepts no assertion except MPI_MODE_NOCHECK; it got %d", function, assertion);
}

Status check_locks(const Window& window, const char* function) {
  if (!window.no_locks_) return kOk;
  return fail(Errc::kRmaSync, "%s: the window was created with the hint no_locks=true", function);
}

Status check_passive(const Window& window, const char* function) {
  if (window.epoch_ == Epoch::kLock || window.epoch_ == Epoch::kLockAll) return kOk;
  return fail(Errc::kRmaSync, "%s without an open epoch of MPI_Win_lock or MPI_Win_lock_all", function);
}

// Returns an error if a process of the window has failed: any process may hold a member's lock.
Status can_complete(const Window& window) { return p2p::can_complete(window.context()); }

// Takes a lock whose word this process can access.
Status take_word(Window& window, Control& control, bool exclusive) {
  bool waits = false;
  const auto take = [&] { return exclusive ? control.lock.try_exclusive(&waits) : control.lock.try_shared(); };
  if (take()) return kOk;
  p2p::PolledWait polled;
  polled.hold(window.is_unlocked_silently());
  const Status status = p2p::wait_until(take, [&] { return can_complete(window); });
  polled.hold(false);
  if (!status.ok()) control.lock.stop_waiting(&waits);
  return status;
}

Status ask(Window& window, int rank, bool exclusive) {
  window.member(rank).lock_granted = false;
  return p2p::send_active_message(window.proc(rank), wire::header(wire::Action::kLock, window, 0, exclusive ? 1 : 0));
}

Status await_grant(Window& window, int rank) {
  const Member& member = window.member(rank);
  return p2p::wait_until([&] { return member.lock_granted; }, [&] { return can_complete(window); });
}

Status acquire(Window& window, int rank, bool exclusive) {
  Member& member = window.member(rank);
  if (member.control != nullptr) return take_word(window, *member.control, exclusive);
  HR_TRY(ask(window, rank, exclusive));
  return await_grant(window, rank);
}

Status give_back(Window& window, int rank) {
  Member& member = window.member(rank);
  const Lock held = member.lock;
  member.lock = Lock::kNone;
  if (held == Lock::kUnchecked || held == Lock::kNone) return kOk;
  const bool exclusive = held == Lock::kExclusive;
  if (member.control != nullptr) {
    member.control->lock.release(exclusive);
    if (rank == window.rank()) grant_locks();
    return kOk;
  }
  return p2p::send_active_message(window.proc(rank), wire::header(wire::Action::kUnlock, window, 0, exclusive ? 1 : 0));
}

// Sends all requests first, so that the answers arrive concurrently; then takes the locks whose words this process can
// access.
Status acquire_all(Window& window) {
  for (int rank = 0; rank < window.size(); ++rank) {
    if (window.member(rank).control == nullptr) HR_TRY(ask(window, rank, false));
  }
  for (int rank = 0; rank < window.size(); ++rank) {
    Member& member = window.member(rank);
    HR_TRY(member.control != nullptr ? take_word(window, *member.control, false) : await_grant(window, rank));
    member.lock = Lock::kShared;
  }
  return kOk;
}

// Locks MPI_PROC_NULL: an epoch without any accessible memory.
Status lock_nobody(Window& window) {
  if (window.nobody_locked_) return fail(Errc::kRmaSync, "MPI_PROC_NULL is locked by this process already");
  window.nobody_locked_ = true;
  window.begin_lock();
  return kOk;
}

}  // namespace

Status lock(Window& window, int type, int rank, int assertion) {
  quick::take_turn(window);
  if (type != abi::kLockExclusive && type != abi::kLockShared)
    return fail(Errc::kLocktype, "lock_type is %d; it may be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED", type);
  if (rank != abi::kProcNull) HR_TRY(check_rank(window, rank));
  HR_TRY(check_assertion(assertion, "MPI_Win_lock"));
  HR_TRY(check_locks(window, "MPI_Win_lock"));
  // Read once: other threads may take and release locks of other targets at the same time (direct.hpp).
  const Epoch open = window.epoch_;
  if (open != Epoch::kNone && open != Epoch::kLock) HR_TRY(check_no_access(window, "MPI_Win_lock"));
  if (rank == abi::kProcNull) return lock_nobody(window);
  Member& member = window.member(rank);
  if (member.lock != Lock::kNone) return fail(Errc::kRmaSync, "rank %d is locked by this process already", rank);
  const bool exclusive = type == abi::kLockExclusive;
  const bool unchecked = (assertion & abi::kModeNocheck) != 0;
  if (!unchecked) HR_TRY(acquire(window, rank, exclusive));
  member.lock = unchecked ? Lock::kUnchecked : exclusive ? Lock::kExclusive : Lock::kShared;
  window.begin_lock();
  return kOk;
}

Status unlock(Window& window, int rank) {
  quick::take_turn(window);
  if (rank == abi::kProcNull && window.nobody_locked_) {
    window.nobody_locked_ = false;
    window.end_lock();
    return kOk;
  }
  HR_TRY(check_rank(window, rank));
  if (window.epoch_ != Epoch::kLock || window.member(rank).lock == Lock::kNone)
    return fail(Errc::kRmaSync, "rank %d is not locked by this process (MPI_Win_lock)", rank);
  Status done = finish_operations(window, rank, false);
  if (done.ok() && rank == window.rank()) done = settle_device(window);
  const Status given = give_back(window, rank);
  window.end_lock();
  return done.ok() ? given : done;
}

Status lock_all(Window& window, int assertion) {
  quick::take_turn(window);
  HR_TRY(check_assertion(assertion, "MPI_Win_lock_all"));
  HR_TRY(check_locks(window, "MPI_Win_lock_all"));
  HR_TRY(check_no_access(window, "MPI_Win_lock_all"));
  if ((assertion & abi::kModeNocheck) == 0) HR_TRY(acquire_all(window));
  window.epoch_ = Epoch::kLockAll;
  return kOk;
}

Status unlock_all(Window& window) {
  if (window.epoch_ != Epoch::kLockAll)
    return fail(Errc::kRmaSync, "MPI_Win_unlock_all without an open epoch of MPI_Win_lock_all");
  Status first = finish_operations(window, false);
  for (int rank = 0; rank < window.size(); ++rank) {
    const Status given = give_back(window, rank);
    if (first.ok()) first = given;
  }
  window.epoch_ = Epoch::kNone;
  return first;
}

Status flush_any(Window& window, int rank, bool local) {
  if (rank == abi::kProcNull) return check_passive(window, local ? "MPI_Win_flush_local" : "MPI_Win_flush");
  HR_TRY(check_rank(window, rank));
  HR_TRY(check_passive(window, local ? "MPI_Win_flush_local" : "MPI_Win_flush"));
  if (window.epoch_ == Epoch::kLock && window.member(rank).lock == Lock::kNone)
    return fail(Errc::kRmaSync, "rank %d is not locked by this process (MPI_Win_lock)", rank);
  return finish_operations(window, rank, local);
}

Status flush_all(Window& window, bool local) {
  quick::take_turn(window);
  HR_TRY(check_passive(window, local ? "MPI_Win_flush_local_all" : "MPI_Win_flush_all"));
  return finish_operations(window, local);
}

// Orders loads and stores of this process before and after the call; makes progress on requests that others have sent.
Status sync(Window& window) {
  HR_TRY(settle_device(window));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  p2p::poll();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return kOk;
}

}  // namespace hr::rma
