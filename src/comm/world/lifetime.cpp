// The lifetime of communicators: the predefined ones from init() to finalize(), freeing, disconnecting.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "comm/communicator.hpp"
#include "comm/consensus.hpp"
#include "comm/core/connections.hpp"
#include "comm/core/state.hpp"
#include "comm/create.hpp"
#include "comm/create/assemble.hpp"
#include "comm/failure.hpp"
#include "p2p/channel.hpp"
#include "p2p/counting.hpp"
#include "p2p/p2p.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/request.hpp"

namespace hr::comm {

namespace {

Ref<Communicator> make_predefined(const ProcList& procs, std::uint32_t number, std::uintptr_t handle,
                                  const char* name) {
  const Ref<Errhandler> fatal = Ref<Errhandler>::share(predefined_errhandler(abi::kErrorsAreFatal));
  Ref<Communicator> made = assemble(group_of(procs), {}, fatal);
  made->context_ = number * kContextSpacing;
  made->name_ = name;
  made->set_predefined_handle(handle);
  return made;
}

bool has_pending_operations(const Communicator& comm) {
  bool found = false;
  Arena<p2p::Request>::instance().for_each([&](const p2p::Request& request) {
    found |= request.communicator_ == &comm && request.active() && !request.complete();
  });
  return found;
}

bool may_be_pending_on_channel(const Communicator& comm) {
  const std::vector<p2p::Channel*> channels = channels_of(comm);
  return std::any_of(channels.begin(), channels.end(),
                     [&comm](p2p::Channel* channel) { return channel->may_have_pending(comm.context()); });
}

// --- For p2p, once a process has failed or left MPI ---

// Finds a process by the source in a message, which is a process number in agreements and a rank everywhere else.
int process_of(std::uint32_t context, int source) {
  static_assert(kContextSpacing == p2p::kContextsOfOne && kPartitionedContext == p2p::kPartsContext &&
                    kChannelDataContext == p2p::kChannelDataContext,
                "p2p and comm agree on the contexts of a communicator");
  const std::uint32_t use = context % kContextSpacing;
  const bool by_number = use >= kCreationContext && use != kPartitionedContext && use != kChannelDataContext;
  if (by_number) return boot::processes().with_number(source);
  const Communicator* comm = communicator_of(context);
  if (comm == nullptr) return -1;
  const Group& group = use == kLocalCollectiveContext ? *comm->local_ : comm->peers();
  return source >= 0 && source < group.size() ? group.proc(source) : -1;
}

int sender(std::uint32_t context, int index) {
  const Communicator* comm = communicator_of(context);
  if (comm == nullptr) return -1;
  const Group& group = context % kContextSpacing == kLocalCollectiveContext ? *comm->local_ : comm->peers();
  return index < group.size() ? group.proc(index) : -1;
}

bool has_failed_member(const Communicator& comm) {
  const auto failed = p2p::failed_processes();
  return std::any_of(failed.begin(), failed.end(), [&](int proc) { return is_member(comm, proc); });
}

}  // namespace

Communicator::~Communicator() {
  forget_channels(*this);
  if (state == nullptr) return;
  release_connections(*this);
  if (context_ == 0) return;
  // The context is not released: messages of members that have given up may still be in transit, and other members may
  // still query the agreed outcome.
  if (is_revoked(*this) || has_failed_member(*this)) return;
  agreements_ != 0 ? rest_context(context_) : release_context(context_);
}

LayerState<State> state;

Communicator* world() noexcept { return state != nullptr ? state->world.get() : nullptr; }
Communicator* self() noexcept { return state != nullptr ? state->self.get() : nullptr; }

Communicator* predefined_communicator(std::uintptr_t abi_value) noexcept {
  if (abi_value == abi::kCommWorld) return world();
  return abi_value == abi::kCommSelf ? self() : nullptr;
}

Status init() {
  state = std::make_unique<State>();
  // Keeps contexts of an earlier use of MPI that the program or a pending operation still holds.
  const auto keep = [](const Communicator& comm) { keep_context(comm.context()); };
  Arena<Communicator>::instance().for_each(keep);
  Arena<Communicator>::instance().for_each(keep, ObjectKind::kRevokedCommunicator);
  const boot::Identity& identity = boot::identity();
  state->world = make_predefined(ProcList::range(0, 1, identity.size), kWorldNumber, abi::kCommWorld, "MPI_COMM_WORLD");
  state->self = make_predefined(ProcList::range(identity.rank, 1, 1), kSelfNumber, abi::kCommSelf, "MPI_COMM_SELF");
  p2p::set_context_members({process_of, sender, missing_from, acknowledged_on});
  begin_failure_handling();
  begin_consensus();
  return kOk;
}

Status delete_predefined_attributes() {
  HR_TRY(self()->attributes_.clear(self()->handle()));
  return world()->attributes_.clear(world()->handle());
}

void finalize() {
  if (state == nullptr) return;
  say_goodbye();
  state->self = {};
  state->world = {};
  state.reset();
}

Status free(Communicator& comm) {
  if (comm.is_predefined()) return fail(Errc::kComm, "%s cannot be freed", comm.name_.c_str());
  HR_TRY(comm.attributes_.clear(comm.handle()));
  if (state != nullptr && state->parent == &comm) state->parent = nullptr;
  keep_for_channel(comm);
  release(&comm);
  return kOk;
}

void end_connections(Communicator& comm) {
  std::string why = take_detail();  // of an error that the caller is about to return
  leave_together(comm);
  set_detail(std::move(why));
  comm.disconnects_ = true;
  release_connections(comm);
  comm.has_others_ = false;
}

Status disconnect(Communicator& comm) {
  if (comm.is_predefined()) return fail(Errc::kComm, "%s cannot be disconnected", comm.name_.c_str());
  HR_TRY(p2p::wait_until([&comm] { return !has_pending_operations(comm) && !may_be_pending_on_channel(comm); }));
  leave_together(comm);
  comm.disconnects_ = true;
  return free(comm);
}

}  // namespace hr::comm
