// MPI_Intercomm_create, MPI_Intercomm_create_from_groups and MPI_Intercomm_merge.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "comm/connect.hpp"
#include "comm/create.hpp"
#include "comm/create/assemble.hpp"
#include "comm/failure.hpp"

namespace hr::comm {

namespace {

// Message from the leader to its group: the data of the other side, or the leader's error.
struct News {
  int error = 0;
  int remote_leader = -1;
  std::uint32_t context = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
};

// Broadcasts the leader's data to its group: its status, the bridge, and `remote`, the processes of the other side. If
// the leader has an error, all members of its group return one, so that none waits for a leader that has left.
Status spread(const Members& members, const Status& at_leader, Bridge* bridge, Blob* remote) {
  News news{at_leader.code(), bridge->remote_leader, bridge->context, bridge->tag, remote->size()};
  HR_TRY(p2p::run_blocking(broadcast(members, bridge->leader, &news, sizeof news)));
  if (news.error != 0) {
    if (members.me == bridge->leader) return at_leader;
    return fail(static_cast<Errc>(news.error), "the local leader (rank %d) found an error in its arguments",
                bridge->leader);
  }
  remote->resize(news.bytes);
  HR_TRY(p2p::run_blocking(broadcast(members, bridge->leader, remote->data(), remote->size())));
  *bridge = {bridge->leader, news.remote_leader, news.context, news.tag};
  return kOk;
}

// Second half of both constructors; called when every local member knows the bridge and the names of the other side.
Status join(const Members& members, const Bridge& bridge, const Blob& names, Ref<Group> local,
            const Ref<Errhandler>& errhandler, Ref<Communicator>* result) {
  if (!of_one_job(members.procs, names)) {
    // The leaders are connected, but the other processes may not be.
    PeerLine line(members.procs[members.me], bridge.remote_leader, bridge.context, bridge.tag);
    return connect_groups(members, bridge.leader, kOk, &line, std::move(local), errhandler, result);
  }
  std::vector<int> remote;
  HR_TRY(unpack_names(names, &remote));
  return join_groups(members, bridge, std::move(remote), std::move(local), errhandler, result);
}

Status check_leader(int leader, int size, const char* which) {
  if (leader >= 0 && leader < size) return kOk;
  return fail(Errc::kRank, "%s leader %d is outside its group of %d processes", which, leader, size);
}

// Called at the leader: finds the other leader and exchanges process lists with it.
Status trade(const Members& members, Communicator* peer, int remote_leader, int tag, Bridge* bridge, Blob* remote) {
  if (peer == nullptr) return fail(Errc::kComm, "the peer communicator is MPI_COMM_NULL at the local leader");
  HR_TRY(check_leader(remote_leader, peer->peers().size(), "remote"));
  bridge->remote_leader = peer->peer_proc(remote_leader);
  bridge->context = peer->context() + kLeaderContext;
  bridge->tag = tag;
  if (bridge->remote_leader == members.procs[members.me]) {
    return fail(Errc::kRank, "the remote leader (rank %d of the peer communicator) is the local leader", remote_leader);
  }
  const Blob own = pack_names(members.procs);
  return p2p::run_blocking(
      exchange_blobs(members.procs[members.me], bridge->remote_leader, bridge->context, bridge->tag, &own, remote));
}

}  // namespace

Status intercomm_create(Communicator& local, int local_leader, Communicator* peer, int remote_leader, int tag,
                        Ref<Communicator>* result) {
  HR_TRY(check_intra(local));
  HR_TRY(check_leader(local_leader, local.size(), "local"));
  const Participants participants(local);
  const Members members = participants.next_creation(local);
  Bridge bridge;
  bridge.leader = local_leader;
  Blob remote;
  const Status at_leader =
      local.rank() == local_leader ? trade(members, peer, remote_leader, tag, &bridge, &remote) : kOk;
  HR_TRY(spread(members, at_leader, &bridge, &remote));
  return join(members, bridge, remote, local.local_, local.errhandler_, result);
}

Status intercomm_create_from_groups(const Group& local, int local_leader, const Group* remote, int remote_leader,
                                    const char* stringtag, const Info* hints, Errhandler& errhandler,
                                    Ref<Communicator>* result) {
  HR_TRY(check_errhandler(errhandler, ErrhandlerTarget::kCommunicator));
  HR_TRY(check_stringtag(stringtag));
  if (local.rank() == abi::kUndefined) return fail(Errc::kGroup, "the calling process is not in the local group");
  HR_TRY(check_leader(local_leader, local.size(), "local"));
  const Members members = bootstrap_members(local, stringtag);
  Bridge bridge;
  bridge.leader = local_leader;
  Blob other;
  Status at_leader = kOk;
  if (local.rank() == local_leader) {
    at_leader = remote == nullptr || remote->size() == 0
                    ? fail(Errc::kGroup, "the remote group is empty at the local leader")
                    : check_leader(remote_leader, remote->size(), "remote");
    if (at_leader.ok()) {
      bridge.remote_leader = remote->proc(remote_leader);
      bridge.context = kBootstrapNumber * kContextSpacing + kLeaderContext;
      // The same on both sides: computed from both leaders in a fixed order.
      const int own = boot::processes().number_of(local.proc(local_leader));
      const int theirs = boot::processes().number_of(bridge.remote_leader);
      const int leaders[2] = {std::min(own, theirs), std::max(own, theirs)};
      bridge.tag =
          hash_tag(stringtag, std::strlen(stringtag), static_cast<std::uint64_t>(hash_tag(leaders, sizeof leaders)));
      other = pack_names(remote->procs());
    }
  }
  HR_TRY(spread(members, at_leader, &bridge, &other));
  Ref<Group> group = group_of(local.procs(), local);
  HR_TRY(join(members, bridge, other, std::move(group), Ref<Errhandler>::share(&errhandler), result));
  set_info(**result, hints);
  return kOk;
}

Status intercomm_merge(Communicator& comm, bool high, Ref<Communicator>* result) {
  if (!comm.is_inter()) {
    return fail(Errc::kComm, "the communicator is an intracommunicator: an intercommunicator is needed here");
  }
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  const char own = high ? 1 : 0;
  std::vector<char> flags(static_cast<std::size_t>(participants.size()));
  HR_TRY(p2p::run_blocking(allgather(members, &own, 1, reinterpret_cast<std::byte*>(flags.data()))));
  // Participants are in the same order everywhere: the first group's flag is the first entry, the second group's the
  // last.
  const bool swap = flags.front() != 0 && flags.back() == 0;
  std::vector<int> procs(members.procs.begin(), members.procs.end());
  if (swap) {
    const int own_size = comm.local_->size();
    const int first_size = participants.on_own_side(0) ? own_size : participants.size() - own_size;
    std::rotate(procs.begin(), procs.begin() + first_size, procs.end());
  }
  Ref<Communicator> made = assemble(make_group(std::move(procs), *comm.local_), {}, comm.errhandler_);
  HR_TRY(check_no_room(made));
  HR_TRY(agree(members, made));
  *result = std::move(made);
  return kOk;
}

}  // namespace hr::comm
