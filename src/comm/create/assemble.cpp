#include "comm/create/assemble.hpp"

#include <cstring>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "comm/core/connections.hpp"
#include "comm/failure.hpp"

namespace hr::comm {

Participants::Participants(const Communicator& comm) {
  const ProcList& own = comm.local_->procs();
  if (!comm.is_inter()) {
    procs_ = own;
    me_ = comm.rank();
    first_size_ = size();
    return;
  }
  const ProcList& other = comm.remote_->procs();
  own_is_first_ = boot::processes().before(own[0], other[0]);
  const auto& first = own_is_first_ ? own : other;
  const auto& second = own_is_first_ ? other : own;
  both_.assign(first.begin(), first.end());
  both_.insert(both_.end(), second.begin(), second.end());
  procs_ = ProcList(both_.data(), static_cast<int>(both_.size()));
  first_size_ = first.size();
  me_ = own_is_first_ ? comm.rank() : first_size_ + comm.rank();
}

Members Participants::next_creation(Communicator& comm) const {
  const auto tag = static_cast<int>(comm.creations_++ & 0x7fffffff);
  return {procs_, size(), me_, comm.context() + kCreationContext, tag};
}

Ref<Communicator> assemble(Ref<Group> local, Ref<Group> remote, const Ref<Errhandler>& errhandler) {
  Ref<Communicator> made = Ref<Communicator>::adopt(Arena<Communicator>::instance().create());
  if (!made) return made;
  made->set_groups(std::move(local), std::move(remote));
  made->errhandler_ = errhandler;
  hold_connections(*made);
  return made;
}

Status agree(const Members& members, const Ref<Communicator>& result) {
  Agreement agreement;
  agreement.members = members;
  agreement.takes = static_cast<bool>(result);
  if (result) agreement.assertions = assertions_of(*result);
  std::uint32_t context = 0;
  std::uint32_t asserted = 0;
  HR_TRY(p2p::run_blocking(agree_on_context(agreement, &context, &asserted)));
  if (!result) return kOk;
  result->asserted_ = asserted;
  result->context_ = context;
  apply_early_revocation(*result);
  return kOk;
}

Status check_stringtag(const char* stringtag) {
  const std::size_t length = std::strlen(stringtag);
  if (length < abi::kMaxStringtagLen) return kOk;
  return fail(Errc::kArg, "stringtag has %zu characters: MPI_MAX_STRINGTAG_LEN - 1 = %d are allowed", length,
              abi::kMaxStringtagLen - 1);
}

Members bootstrap_members(const Group& group, const char* stringtag) {
  const int group_hash = hash_tag(group.procs());
  const int tag = hash_tag(stringtag, std::strlen(stringtag), static_cast<std::uint64_t>(group_hash));
  return {group.procs(), group.size(), group.rank(), kBootstrapNumber * kContextSpacing + kCreationContext, tag};
}

Status check_intra(const Communicator& comm) {
  if (!comm.is_inter()) return kOk;
  return fail(Errc::kComm, "the communicator is an intercommunicator: an intracommunicator is needed here");
}

Status check_no_room(const Ref<Communicator>& made) {
  if (made) return kOk;
  return fail(Errc::kNoMem, "no memory for another communicator: free those no longer needed");
}

}  // namespace hr::comm
