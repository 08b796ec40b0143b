// Active target: fence (MPI 5.0 section 12.5.1), and start, complete, post, wait, test (section 12.5.2).
#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "coll/coll.hpp"
#include "comm/group.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "rma/device.hpp"
#include "rma/epoch.hpp"
#include "rma/rma.hpp"
#include "rma/state.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

namespace {

constexpr int kFenceAssertions = abi::kModeNostore | abi::kModeNoput | abi::kModeNoprecede | abi::kModeNosucceed;
constexpr int kPostAssertions = abi::kModeNocheck | abi::kModeNostore | abi::kModeNoput;

Status check_assertion(int assertion, int allowed, const char* function) {
  if ((assertion & ~allowed) == 0) return kOk;
  return fail(Errc::kAssert, "%s got the assertion %d, of which it does not accept %d", function, assertion,
              assertion & ~allowed);
}

// Finds the window ranks of a group's processes.
Status ranks_of(const Window& window, const comm::Group& group, std::vector<int>* ranks) {
  std::vector<int> all(static_cast<std::size_t>(group.size()));
  for (int i = 0; i < group.size(); ++i) all[static_cast<std::size_t>(i)] = i;
  ranks->resize(all.size());
  if (all.empty()) return kOk;
  HR_TRY(comm::translate(group, all, *window.group_, ranks->data()));
  for (std::size_t i = 0; i < ranks->size(); ++i) {
    if ((*ranks)[i] == abi::kUndefined)
      return fail(Errc::kGroup, "process %zu of the group is not in the window's group", i);
  }
  return kOk;
}

// Sends kPost or kComplete to a member; records it directly if the member is this process.
Status tell(Window& window, int rank, wire::Action action) {
  if (rank != window.rank()) return p2p::send_active_message(window.proc(rank), wire::header(action, window));
  Member& own = window.own();
  ++(action == wire::Action::kPost ? own.posts : own.completes);
  return kOk;
}

// Waits until a message from each of these members has arrived. `told`: the counter of such messages.
Status await(Window& window, const std::vector<int>& ranks, std::uint32_t Member::* told) {
  for (const int rank : ranks) {
    const Member& member = window.member(rank);
    const int proc = window.proc(rank);
    const auto can_complete = [proc] { return p2p::has_failed(proc) ? p2p::failure_error(proc) : kOk; };
    HR_TRY(p2p::wait_until([&] { return member.*told != 0; }, can_complete));
  }
  return kOk;
}

void close_start(Window& window) {
  for (const int rank : window.start_ranks_) window.member(rank).started = false;
  window.start_ranks_.clear();
  window.epoch_ = Epoch::kNone;
}

void close_post(Window& window) {
  for (const int rank : window.post_ranks_) --window.member(rank).completes;
  window.post_ranks_.clear();
  window.exposed_ = false;
}

// Closes an exposure epoch that a failure has ended, so that the window can be freed.
void give_up_post(Window& window) {
  window.post_ranks_.clear();
  window.exposed_ = false;
}

Status check_exposed(const Window& window, const char* function) {
  if (window.exposed_) return kOk;
  return fail(Errc::kRmaSync, "%s without an open epoch of exposure: call MPI_Win_post first", function);
}

}  // namespace

Status fence(Window& window, int assertion) {
  HR_TRY(check_assertion(assertion, kFenceAssertions, "MPI_Win_fence"));
  if (window.epoch_ != Epoch::kNone && window.epoch_ != Epoch::kFence) HR_TRY(check_no_access(window, "MPI_Win_fence"));
  if (window.exposed_)
    return fail(Errc::kRmaSync, "MPI_Win_fence was called in an epoch of MPI_Win_post: call MPI_Win_wait first");
  Status done = finish_operations(window, false);
  if (done.ok()) done = settle_device(window);
  // A fence that no operations precede or follow need not wait for other processes.
  const int apart = abi::kModeNoprecede | abi::kModeNosucceed;
  Status met = kOk;
  if ((assertion & apart) != apart) {
    coll::Call call;
    met = coll::barrier(call, *window.comm_);
    if (met.ok()) met = coll::run(call);
  }
  window.fence_used_ = false;
  window.epoch_ = (assertion & abi::kModeNosucceed) != 0 ? Epoch::kNone : Epoch::kFence;
  return done.ok() ? met : done;
}

// With MPI_MODE_NOCHECK, the targets have already called MPI_Win_post, so waiting for their posts costs nothing.
Status start(Window& window, const comm::Group& group, int assertion) {
  HR_TRY(check_assertion(assertion, abi::kModeNocheck, "MPI_Win_start"));
  HR_TRY(check_no_access(window, "MPI_Win_start"));
  std::vector<int> ranks;
  HR_TRY(ranks_of(window, group, &ranks));
  HR_TRY(await(window, ranks, &Member::posts));
  window.start_ranks_ = std::move(ranks);
  for (const int rank : window.start_ranks_) {
    Member& member = window.member(rank);
    member.started = true;
    --member.posts;
  }
  window.epoch_ = Epoch::kStart;
  return kOk;
}

Status complete(Window& window) {
  if (window.epoch_ != Epoch::kStart)
    return fail(Errc::kRmaSync, "MPI_Win_complete without an open epoch of MPI_Win_start");
  Status first = finish_operations(window, false);
  for (const int rank : window.start_ranks_) {
    const Status told = tell(window, rank, wire::Action::kComplete);
    if (first.ok()) first = told;
  }
  close_start(window);
  return first;
}

Status post(Window& window, const comm::Group& group, int assertion) {
  HR_TRY(check_assertion(assertion, kPostAssertions, "MPI_Win_post"));
  if (window.exposed_)
    return fail(Errc::kRmaSync, "MPI_Win_post was called twice: call MPI_Win_wait (or MPI_Win_test) in between");
  if (window.epoch_ == Epoch::kFence) HR_TRY(check_no_access(window, "MPI_Win_post"));
  std::vector<int> ranks;
  HR_TRY(ranks_of(window, group, &ranks));
  HR_TRY(settle_device(window));
  if (window.epoch_ == Epoch::kFence) window.epoch_ = Epoch::kNone;
  window.exposed_ = true;
  window.post_ranks_ = std::move(ranks);
  for (const int rank : window.post_ranks_) {
    const Status told = tell(window, rank, wire::Action::kPost);
    if (told.ok()) continue;
    give_up_post(window);
    return told;
  }
  return kOk;
}

Status wait(Window& window) {
  HR_TRY(check_exposed(window, "MPI_Win_wait"));
  const Status waited = await(window, window.post_ranks_, &Member::completes);
  if (!waited.ok()) {
    give_up_post(window);
    return waited;
  }
  close_post(window);
  return kOk;
}

Status test(Window& window, bool* done) {
  HR_TRY(check_exposed(window, "MPI_Win_test"));
  const auto all_told = [&] {
    for (const int rank : window.post_ranks_) {
      if (window.member(rank).completes == 0) return false;
    }
    return true;
  };
  if (!all_told()) p2p::poll_for_test(all_told);
  *done = all_told();
  if (*done) {
    close_post(window);
    return kOk;
  }
  for (const int rank : window.post_ranks_) {
    const int proc = window.proc(rank);
    if (window.member(rank).completes != 0 || !p2p::has_failed(proc)) continue;
    give_up_post(window);
    return p2p::failure_error(proc);
  }
  return kOk;
}

}  // namespace hr::rma
