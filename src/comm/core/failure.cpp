#include "comm/failure.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/dropped.hpp"
#include "boot/boot.hpp"
#include "comm/core/state.hpp"
#include "p2p/active_message.hpp"
#include "p2p/channel.hpp"
#include "p2p/process_failure.hpp"

namespace hr::comm {
namespace {

// Contexts whose revocation arrived before this process had created the communicator.
using EarlyRevocations = std::vector<std::uint32_t>;
constexpr std::size_t kMostEarly = 4096;
EarlyRevocations& early() { return state->early_revocations; }

void (*revoked_elsewhere)(Communicator& comm) = nullptr;

// Uses of contexts that a revocation ends; the survivors continue to use the others.
constexpr ContextUse kRevokedUses[] = {kPointToPointContext, kCollectiveContext,  kLocalCollectiveContext,
                                       kCreationContext,     kCreateGroupContext, kLeaderContext,
                                       kSharedMemoryContext, kPartitionedContext};

template <class Visit>
void for_each_member(const Communicator& comm, Visit&& visit) {
  for (const int proc : comm.local_->procs()) visit(proc);
  if (!comm.is_inter()) return;
  for (const int proc : comm.remote_->procs()) visit(proc);
}

std::vector<int> failed_procs(const Communicator& comm, std::size_t among) {
  std::vector<int> found;
  for (const int proc : p2p::failed_processes().first(among)) {
    if (is_member(comm, proc)) found.push_back(proc);
  }
  return found;
}

void on_active_message(const p2p::ActiveMessage& message) {
  if (state == nullptr) return;
  const auto context = static_cast<std::uint32_t>(message.subject);
  if (Communicator* comm = communicator_of(context)) {
    if (is_member(*comm, message.from)) return revoke(*comm);
    return drop_message(message.from, "it revokes a communicator that it is not a member of");
  }
  // The communicator is complete elsewhere, but still being created here; or it has been freed.
  if (state->contexts.agreements_under_way == 0 || std::ranges::find(early(), context) != early().end()) return;
  if (early().size() < kMostEarly) early().push_back(context);
}

}  // namespace

bool is_member(const Communicator& comm, int proc) noexcept {
  return comm.local_->procs().rank_of(proc) != abi::kUndefined ||
         (comm.is_inter() && comm.remote_->procs().rank_of(proc) != abi::kUndefined);
}

Communicator* communicator_of(std::uint32_t context) {
  Communicator* found = nullptr;
  const auto look = [&](Communicator& each) {
    if (each.context_ != 0 && each.context_ / kContextSpacing == context / kContextSpacing) found = &each;
  };
  Arena<Communicator>::instance().for_each(look);
  if (found == nullptr) Arena<Communicator>::instance().for_each(look, ObjectKind::kRevokedCommunicator);
  return found;
}

Status revoked_error() {
  return fail(Errc::kRevoked, "the communicator was revoked; MPIX_Comm_shrink creates one of the remaining processes");
}

void on_revoked(void (*function)(Communicator& comm)) noexcept { revoked_elsewhere = function; }

void revoke(Communicator& comm) {
  if (is_revoked(comm)) return;
  comm.become(ObjectKind::kRevokedCommunicator);
  if (revoked_elsewhere != nullptr) revoked_elsewhere(comm);
  for_each_member(comm, [&](int proc) {
    if (proc != boot::processes().self() && !p2p::has_failed(proc))
      p2p::send_active_message(proc, p2p::ActiveMessageId::kRevoked, comm.context(), nullptr, 0);
  });
  for (const ContextUse use : kRevokedUses) p2p::end_context(comm.context() + use, revoked_error());
  for (const p2p::Channel* channel : channels_of(comm))
    p2p::channels::end(channel->number(), comm.context(), revoked_error());
}

void apply_early_revocation(Communicator& comm) {
  if (early().empty() || std::erase(early(), comm.context()) == 0) return;
  revoke(comm);
}

Ref<Group> failed_members(const Communicator& comm) {
  return make_group(failed_procs(comm, p2p::failed_processes().size()), *comm.local_);
}

Ref<Group> acknowledged_members(const Communicator& comm) {
  return make_group(failed_procs(comm, comm.acknowledged_), *comm.local_);
}

int acknowledge(Communicator& comm, int count) {
  int known = 0;
  const auto failed = p2p::failed_processes();
  for (std::size_t i = 0; i < failed.size() && known < count; ++i) {
    if (!is_member(comm, failed[i])) continue;
    ++known;
    comm.acknowledged_ = std::max(comm.acknowledged_, i + 1);
  }
  p2p::resume_interrupted(comm.context());
  return static_cast<int>(failed_procs(comm, comm.acknowledged_).size());
}

int missing_from(std::uint32_t context) {
  const std::uint32_t use = context % kContextSpacing;
  const bool needs_all = use == kCollectiveContext || use == kLocalCollectiveContext || use == kCreationContext ||
                         use == kSharedMemoryContext;
  if (!needs_all && use != kSurvivorsContext) return -1;
  const Communicator* comm = communicator_of(context);
  if (comm == nullptr) return -1;
  for (const int proc : p2p::failed_processes()) {
    if (!is_member(*comm, proc)) continue;
    const auto& excluded = comm->excluded_;
    if (needs_all || std::find(excluded.begin(), excluded.end(), proc) == excluded.end()) return proc;
  }
  return -1;
}

int acknowledged_on(std::uint32_t context) {
  const Communicator* comm = communicator_of(context);
  return comm == nullptr ? static_cast<int>(p2p::failed_processes().size()) : static_cast<int>(comm->acknowledged_);
}

void begin_failure_handling() { p2p::set_active_message_handler(p2p::ActiveMessageId::kRevoked, on_active_message); }

}  // namespace hr::comm
