// Communicators (MPI 5.0 sections 7.4 to 7.6 and 7.8).
#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/abi.hpp"
#include "bind/impl.hpp"
#include "bind/raise.hpp"
#include "comm/create.hpp"
#include "enqueue/enqueue.hpp"

namespace hr::bind::impl {

namespace {

Status check_inter(const comm::Communicator& comm) {
  if (comm.is_inter()) return kOk;
  return fail(Errc::kComm, "the communicator is an intracommunicator: it has no remote group");
}

// Called by constructors without a parent communicator: errors are raised with the handler that the new communicator
// would have had.
void blame_if_valid(comm::Errhandler& errhandler) {
  if (comm::check_errhandler(errhandler, comm::ErrhandlerTarget::kCommunicator).ok()) blame_handler(errhandler);
}

}  // namespace

// --- accessors ---

Status comm_size(comm::Communicator& comm, int& size) {
  size = comm.size();
  return kOk;
}

Status comm_rank(comm::Communicator& comm, int& rank) {
  rank = comm.rank();
  return kOk;
}

Status comm_compare(comm::Communicator& comm1, comm::Communicator& comm2, int& result) {
  result = comm::compare(comm1, comm2);
  return kOk;
}

Status comm_group(comm::Communicator& comm, Ref<comm::Group>& group) {
  group = comm.local_;
  return kOk;
}

Status comm_test_inter(comm::Communicator& comm, int& flag) {
  flag = comm.is_inter() ? 1 : 0;
  return kOk;
}

Status comm_remote_size(comm::Communicator& comm, int& size) {
  HR_TRY(check_inter(comm));
  size = comm.remote_->size();
  return kOk;
}

Status comm_remote_group(comm::Communicator& comm, Ref<comm::Group>& group) {
  HR_TRY(check_inter(comm));
  group = comm.remote_;
  return kOk;
}

Status comm_get_name(comm::Communicator* comm, char* comm_name, int& resultlen) {
  const std::string_view name = comm == nullptr ? std::string_view("MPI_COMM_NULL") : comm->name_;
  std::memcpy(comm_name, name.data(), name.size());
  comm_name[name.size()] = '\0';
  resultlen = static_cast<int>(name.size());
  return kOk;
}

Status comm_set_name(comm::Communicator& comm, const char* comm_name) {
  comm.name_.assign(comm_name, ::strnlen(comm_name, abi::kMaxObjectName - 1));
  return kOk;
}

Status comm_get_info(comm::Communicator& comm, Ref<comm::Info>& info_used) {
  info_used = comm::get_info(comm);
  return info_used ? kOk : fail(Errc::kNoMem, "no memory for another info object: free those no longer needed");
}

Status comm_set_info(comm::Communicator& comm, comm::Info* info) {
  comm::set_info(comm, info);
  return kOk;
}

// --- constructors ---

Status comm_dup(comm::Communicator& comm, Ref<comm::Communicator>& newcomm) {
  return comm::dup(comm, nullptr, &newcomm);
}

Status comm_dup_with_info(comm::Communicator& comm, comm::Info* info, Ref<comm::Communicator>& newcomm) {
  return comm::dup(comm, info, &newcomm);
}

Status comm_idup(comm::Communicator& comm, Ref<comm::Communicator>& newcomm, p2p::Request*& request) {
  return comm::idup(comm, nullptr, &newcomm, &request);
}

Status comm_idup_with_info(comm::Communicator& comm, comm::Info* info, Ref<comm::Communicator>& newcomm,
                           p2p::Request*& request) {
  return comm::idup(comm, info, &newcomm, &request);
}

Status comm_create(comm::Communicator& comm, comm::Group& group, Ref<comm::Communicator>& newcomm) {
  return comm::create(comm, group, &newcomm);
}

Status comm_create_group(comm::Communicator& comm, comm::Group& group, int tag, Ref<comm::Communicator>& newcomm) {
  return comm::create_group(comm, group, tag, &newcomm);
}

Status comm_create_from_group(comm::Group& group, const char* stringtag, comm::Info* info, comm::Errhandler& errhandler,
                              Ref<comm::Communicator>& newcomm) {
  const Status status = comm::create_from_group(group, stringtag, info, errhandler, &newcomm);
  if (!status.ok()) blame_if_valid(errhandler);
  return status;
}

Status comm_split(comm::Communicator& comm, int color, int key, Ref<comm::Communicator>& newcomm) {
  return comm::split(comm, color, key, &newcomm);
}

Status comm_split_type(comm::Communicator& comm, int split_type, int key, comm::Info* info,
                       Ref<comm::Communicator>& newcomm) {
  return comm::split_type(comm, split_type, key, info, &newcomm);
}

Status intercomm_create(comm::Communicator& local_comm, int local_leader, comm::Communicator* peer_comm,
                        int remote_leader, int tag, Ref<comm::Communicator>& newintercomm) {
  return comm::intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag, &newintercomm);
}

Status intercomm_create_from_groups(comm::Group& local_group, int local_leader, comm::Group* remote_group,
                                    int remote_leader, const char* stringtag, comm::Info* info,
                                    comm::Errhandler& errhandler, Ref<comm::Communicator>& newintercomm) {
  const Status status = comm::intercomm_create_from_groups(local_group, local_leader, remote_group, remote_leader,
                                                           stringtag, info, errhandler, &newintercomm);
  if (!status.ok()) blame_if_valid(errhandler);
  return status;
}

Status intercomm_merge(comm::Communicator& intercomm, bool high, Ref<comm::Communicator>& newintracomm) {
  return comm::intercomm_merge(intercomm, high, &newintracomm);
}

// --- destructors ---

Status comm_free(comm::Communicator& comm) {
  HR_TRY(enqueue::finish(comm));
  return comm::free(comm);
}

Status comm_disconnect(comm::Communicator& comm) {
  HR_TRY(enqueue::finish(comm));
  return comm::disconnect(comm);
}

}  // namespace hr::bind::impl
