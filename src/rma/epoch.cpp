#include "rma/epoch.hpp"

#include <atomic>
#include <utility>

#include "base/abi.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "rma/network.hpp"
#include "rma/quick.hpp"
#include "rma/state.hpp"

namespace hr::rma {

namespace {

const char* describe(Epoch epoch) {
  switch (epoch) {
    case Epoch::kFence:
      return "MPI_Win_fence";
    case Epoch::kStart:
      return "MPI_Win_start";
    case Epoch::kLock:
      return "MPI_Win_lock";
    case Epoch::kLockAll:
      return "MPI_Win_lock_all";
    default:
      return "nothing";
  }
}

[[gnu::cold]] Status no_access(const Window& window, int rank) {
  if (window.epoch_ == Epoch::kStart)
    return fail(Errc::kRmaSync, "rank %d is not in the group that was given to MPI_Win_start", rank);
  if (window.epoch_ == Epoch::kLock) return fail(Errc::kRmaSync, "rank %d is not locked (MPI_Win_lock)", rank);
  return fail(Errc::kRmaSync,
              "no epoch is open in which rank %d may be accessed: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or "
              "MPI_Win_lock_all first",
              rank);
}

bool over(const Member& member, bool local) { return (local ? member.unsent : member.unanswered) == 0; }

// Abandons the operations at a failed member; returns the error.
Status give_up_failed(Window& window, int rank) {
  Member& member = window.member(rank);
  HR_TRY(p2p::has_failed(window.proc(rank)) ? kOk : Status(Errc::kIntern));
  if (std::exchange(member.unflushed, false)) --window.unflushed_;
  window.unanswered_ -= member.unanswered;
  member.unanswered = member.unsent = 0;
  return p2p::failure_error(window.proc(rank));
}

}  // namespace

Status check_rank(const Window& window, int rank) {
  if (rank >= 0 && rank < window.size()) [[likely]]
    return kOk;
  return fail(Errc::kRank, "rank is %d, but the window has ranks 0 to %d", rank, window.size() - 1);
}

Status check_access(Window& window, int rank, bool by_request) {
  if (rank != abi::kProcNull) HR_TRY(check_rank(window, rank));
  if (by_request && window.epoch_ != Epoch::kLock && window.epoch_ != Epoch::kLockAll) {
    return fail(Errc::kRmaSync,
                "operations with a request need an epoch of MPI_Win_lock or MPI_Win_lock_all; the open one is of %s",
                describe(window.epoch_));
  }
  switch (window.epoch_) {
    case Epoch::kFence:
      window.fence_used_ = true;
      return kOk;
    case Epoch::kLockAll:
      return kOk;
    case Epoch::kStart:
      if (rank == abi::kProcNull || window.member(rank).started) return kOk;
      break;
    case Epoch::kLock:
      if (rank == abi::kProcNull || window.member(rank).lock != Member::Lock::kNone) return kOk;
      break;
    case Epoch::kNone:
      break;
  }
  return no_access(window, rank);
}

Status check_no_access(Window& window, const char* what) {
  const bool closed = window.epoch_ == Epoch::kNone || (window.epoch_ == Epoch::kFence && !window.fence_used_);
  if (closed) return kOk;
  return fail(Errc::kRmaSync, "%s was called while an epoch of %s is open: end that first%s", what,
              describe(window.epoch_),
              window.epoch_ == Epoch::kFence ? " (MPI_Win_fence with MPI_MODE_NOSUCCEED)" : "");
}

Status take_failure(Window& window) {
  if (window.failure_.ok()) [[likely]]
    return kOk;
  set_detail(std::exchange(window.why_, {}));
  return std::exchange(window.failure_, kOk);
}

Status finish_operations(Window& window, int rank, bool local) {
  quick::settle_stores();
  if (!local) flush_network(window, rank);
  const Member& member = window.member(rank);
  if (over(member, local)) [[likely]]
    return take_failure(window);
  const auto can_complete = [&] {
    return p2p::has_failed(window.proc(rank)) && !over(member, local) ? give_up_failed(window, rank) : kOk;
  };
  const Status waited = p2p::wait_until([&] { return over(member, local); }, can_complete);
  const Status failed = take_failure(window);
  return waited.ok() ? failed : waited;
}

Status finish_operations(Window& window, bool local) {
  quick::settle_stores();
  for (int rank = 0; !local && rank < window.size() && window.unflushed_ != 0; ++rank) flush_network(window, rank);
  Status first = kOk;
  for (int rank = 0; rank < window.size() && window.unanswered_ != 0; ++rank) {
    if (over(window.member(rank), local)) continue;
    const Status status = finish_operations(window, rank, local);
    if (first.ok()) first = status;
  }
  const Status failed = take_failure(window);
  return first.ok() ? failed : first;
}

}  // namespace hr::rma
