// MPI_Comm_split and MPI_Comm_split_type.
#include <algorithm>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "comm/create.hpp"
#include "comm/create/assemble.hpp"
#include "comm/session.hpp"

namespace hr::comm {

namespace {

struct Choice {
  int color;
  int key;
};

// Returns the participants of one side that chose `color`, ordered by key, then by rank.
Ref<Group> side_of(const Participants& participants, const std::vector<Choice>& choices, int color, bool own_side,
                   const Group& origin) {
  std::vector<int> chosen;
  for (int i = 0; i < participants.size(); ++i) {
    if (participants.on_own_side(i) == own_side && choices[static_cast<std::size_t>(i)].color == color) {
      chosen.push_back(i);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  for (int& entry : chosen) entry = participants.proc(entry);
  return make_group(std::move(chosen), origin);
}

// Returns the same number in all processes of a host, and another one on each host. Numbers of hosts are local to a
// job.
int host_among(const Communicator& comm) {
  const Participants participants(comm);
  int first = 0;
  while (!boot::processes().on_this_host(participants.proc(first))) ++first;
  return first;
}

constexpr const char* kResourceKey = "mpi_hw_resource_type";
constexpr const char* kSharedMemory = "mpi_shared_memory";

// Returns the color by which a guided split groups this process; MPI_UNDEFINED for an unknown resource.
int color_by_resource(const Communicator& comm, const Info* hints, int type) {
  if (hints == nullptr) return abi::kUndefined;
  const int proc = boot::identity().rank;
  const std::string* resource = hints->get(kResourceKey);
  if (resource != nullptr && *resource == kSharedMemory) return host_among(comm);
  const std::string* pset = type == abi::kCommTypeResourceGuided ? hints->get("mpi_pset_name") : nullptr;
  if (pset != nullptr && is_pset_name(0, *pset)) return 0;
  if (pset != nullptr && is_pset_name(1, *pset)) return proc;
  return abi::kUndefined;
}

}  // namespace

Status split(Communicator& comm, int color, int key, Ref<Communicator>* result) {
  return split_with(comm, color, key, nullptr, result);
}

Status split_with(Communicator& comm, int color, int key, const Info* hints, Ref<Communicator>* result) {
  if (color < 0 && color != abi::kUndefined) {
    return fail(Errc::kArg, "color %d is negative and not MPI_UNDEFINED", color);
  }
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  const Choice own{color, key};
  std::vector<Choice> choices(static_cast<std::size_t>(participants.size()));
  HR_TRY(p2p::run_blocking(allgather(members, &own, sizeof own, reinterpret_cast<std::byte*>(choices.data()))));
  Ref<Communicator> made;
  if (color != abi::kUndefined) {
    Ref<Group> local = side_of(participants, choices, color, true, *comm.local_);
    Ref<Group> remote;
    if (comm.is_inter()) remote = side_of(participants, choices, color, false, *comm.remote_);
    // A color that is missing in the other group yields no communicator (section 7.4.2).
    if (!comm.is_inter() || remote->size() > 0) {
      made = assemble(std::move(local), std::move(remote), comm.errhandler_);
      HR_TRY(check_no_room(made));
      set_info(*made, hints);
    }
  }
  HR_TRY(agree(members, made));
  *result = std::move(made);
  return kOk;
}

Status split_type(Communicator& comm, int type, int key, Info* hints, Ref<Communicator>* result) {
  int color = abi::kUndefined;
  switch (type) {
    case abi::kUndefined:
      break;
    case abi::kCommTypeShared:
      color = host_among(comm);
      break;
    case abi::kCommTypeHwGuided:
    case abi::kCommTypeResourceGuided:
      color = color_by_resource(comm, hints, type);
      break;
    case abi::kCommTypeHwUnguided:
      // Each part must be smaller than the original communicator.
      if (!on_one_host(comm.local_->procs())) {
        color = host_among(comm);
        if (hints != nullptr) HR_TRY(hints->set(kResourceKey, kSharedMemory));
      }
      break;
    default:
      return fail(Errc::kArg, "%d is not an MPI_COMM_TYPE_ constant", type);
  }
  return split_with(comm, color, key, type != abi::kCommTypeHwUnguided ? hints : nullptr, result);
}

}  // namespace hr::comm
