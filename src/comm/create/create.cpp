// MPI_Comm_create, MPI_Comm_create_group and MPI_Comm_create_from_group.
#include "comm/create.hpp"

#include <algorithm>
#include <utility>

#include "base/abi.hpp"
#include "comm/create/assemble.hpp"

namespace hr::comm {

namespace {

Status check_part_of(const Group& group, const Communicator& comm) {
  if (is_subset(group, *comm.local_)) return kOk;
  return fail(Errc::kGroup, "the group has processes that are not in the communicator's group");
}

// Finds the processes that the remote group chose, in the order of the group that its members passed.
Status remote_choice(const Participants& participants, const Members& members, const Group& group, Ref<Group>* remote) {
  const int own = group.rank();
  std::vector<int> positions(static_cast<std::size_t>(participants.size()));
  HR_TRY(p2p::run_blocking(allgather(members, &own, sizeof own, reinterpret_cast<std::byte*>(positions.data()))));
  std::vector<std::pair<int, int>> chosen;
  for (int i = 0; i < participants.size(); ++i) {
    const int position = positions[static_cast<std::size_t>(i)];
    if (!participants.on_own_side(i) && position != abi::kUndefined)
      chosen.emplace_back(position, participants.proc(i));
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<int> procs;
  for (const auto& [position, proc] : chosen) procs.push_back(proc);
  *remote = make_group(std::move(procs));
  return kOk;
}

}  // namespace

Status create(Communicator& comm, const Group& group, Ref<Communicator>* result) {
  HR_TRY(check_part_of(group, comm));
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  Ref<Group> remote;
  if (comm.is_inter()) HR_TRY(remote_choice(participants, members, group, &remote));
  Ref<Communicator> made;
  if (group.rank() != abi::kUndefined && (!remote || remote->size() > 0)) {
    made = assemble(group_of(group.procs(), *comm.local_), std::move(remote), comm.errhandler_);
    HR_TRY(check_no_room(made));
  }
  HR_TRY(agree(members, made));
  *result = std::move(made);
  return kOk;
}

Status create_group(Communicator& comm, const Group& group, int tag, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  HR_TRY(check_part_of(group, comm));
  if (group.rank() == abi::kUndefined) return kOk;
  Ref<Communicator> made = assemble(group_of(group.procs(), *comm.local_), {}, comm.errhandler_);
  HR_TRY(check_no_room(made));
  const Group& own = *made->local_;
  const Members members{own.procs(), own.size(), own.rank(), comm.context() + kCreateGroupContext, tag};
  HR_TRY(agree(members, made));
  *result = std::move(made);
  return kOk;
}

Status create_from_group(const Group& group, const char* stringtag, const Info* hints, Errhandler& errhandler,
                         Ref<Communicator>* result) {
  HR_TRY(check_errhandler(errhandler, ErrhandlerTarget::kCommunicator));
  HR_TRY(check_stringtag(stringtag));
  if (group.size() == 0) return kOk;
  if (group.rank() == abi::kUndefined) return fail(Errc::kGroup, "the calling process is not in the group");
  Ref<Communicator> made = assemble(group_of(group.procs(), group), {}, Ref<Errhandler>::share(&errhandler));
  HR_TRY(check_no_room(made));
  set_info(*made, hints);
  HR_TRY(agree(bootstrap_members(*made->local_, stringtag), made));
  *result = std::move(made);
  return kOk;
}

}  // namespace hr::comm
