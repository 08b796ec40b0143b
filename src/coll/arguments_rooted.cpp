// Arguments of the operations with a root; the root determines on which processes an argument is significant (sections
// 6.4 to 6.6).
#include "coll/check.hpp"
#include "coll/coll.hpp"

namespace hr::coll {
namespace {

void begin(Call& call, Operation operation, int root, Communicator& comm) noexcept {
  call.operation = operation;
  call.root = root;
  call.comm = &comm;
  call.members = &members_of(comm);
}

// True for a process that does not take part: any process except the root in the root's group of an intercommunicator.
bool bystander(const Call& call) noexcept { return call.comm->is_inter() && call.root == abi::kProcNull; }

Status one_block(const void* buffer, Count count, Datatype& type, const char* argument, Blocks* result) {
  HR_TRY(not_in_place(buffer, count, argument));
  return uniform_blocks(buffer, count, type, 1, result);
}

std::size_t bytes_of(Count count, const Datatype& type) noexcept {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(type.size());
}

// Returns MPI_ERR_BUFFER if the root's own block is sent from the memory in which it is received.
Status root_not_aliased(const Call& call, const Blocks& many, const Blocks& one) {
  if (call.comm->is_inter()) return kOk;
  layout::View block;
  layout::View own;
  HR_TRY(many.block(call.rank(), &block));
  HR_TRY(one.block(0, &own));
  return not_aliased(own, block);
}

}  // namespace

Status bcast(Call& call, void* buffer, Count count, Datatype& type, int root, Communicator& comm) {
  begin(call, Operation::kBcast, root, comm);
  if (bystander(call)) return kOk;
  HR_TRY(one_block(buffer, count, type, "buffer", &call.recv));
  call.bytes = call.recv.all().packed;
  return kOk;
}

Status gather(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
              Datatype& recvtype, int root, Communicator& comm) {
  begin(call, Operation::kGather, root, comm);
  if (bystander(call)) return kOk;
  if (!call.is_root()) {
    call.bytes = bytes_of(sendcount, sendtype);
    return one_block(sendbuf, sendcount, sendtype, "sendbuf", &call.send);
  }
  call.bytes = bytes_of(recvcount, recvtype);
  HR_TRY(not_in_place(recvbuf, recvcount, "recvbuf"));
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, call.peers(), &call.recv));
  if (comm.is_inter()) return kOk;
  call.in_place = is_in_place(sendbuf);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, 1, &call.send));
  return root_not_aliased(call, call.recv, call.send);
}

Status gatherv(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
               CountArray recvcounts, CountArray displs, Datatype& recvtype, int root, Communicator& comm) {
  begin(call, Operation::kGatherv, root, comm);
  if (bystander(call)) return kOk;
  if (!call.is_root()) return one_block(sendbuf, sendcount, sendtype, "sendbuf", &call.send);
  HR_TRY(check_counts(recvcounts, call.peers(), "recvcounts"));
  HR_TRY(not_in_place(recvbuf, recvcounts, call.peers(), "recvbuf"));
  call.recv = Blocks::counted(recvbuf, recvcounts, displs, recvtype);
  if (comm.is_inter()) return kOk;
  call.in_place = is_in_place(sendbuf);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, 1, &call.send));
  return root_not_aliased(call, call.recv, call.send);
}

Status scatter(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
               Datatype& recvtype, int root, Communicator& comm) {
  begin(call, Operation::kScatter, root, comm);
  if (bystander(call)) return kOk;
  if (!call.is_root()) {
    call.bytes = bytes_of(recvcount, recvtype);
    return one_block(recvbuf, recvcount, recvtype, "recvbuf", &call.recv);
  }
  call.bytes = bytes_of(sendcount, sendtype);
  HR_TRY(not_in_place(sendbuf, sendcount, "sendbuf"));
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, call.peers(), &call.send));
  if (comm.is_inter()) return kOk;
  call.in_place = is_in_place(recvbuf);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, 1, &call.recv));
  return root_not_aliased(call, call.send, call.recv);
}

Status scatterv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype& sendtype,
                void* recvbuf, Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  begin(call, Operation::kScatterv, root, comm);
  if (bystander(call)) return kOk;
  if (!call.is_root()) return one_block(recvbuf, recvcount, recvtype, "recvbuf", &call.recv);
  HR_TRY(check_counts(sendcounts, call.peers(), "sendcounts"));
  HR_TRY(not_in_place(sendbuf, sendcounts, call.peers(), "sendbuf"));
  call.send = Blocks::counted(sendbuf, sendcounts, displs, sendtype);
  if (comm.is_inter()) return kOk;
  call.in_place = is_in_place(recvbuf);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, 1, &call.recv));
  return root_not_aliased(call, call.send, call.recv);
}

Status reduce(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, int root,
              Communicator& comm) {
  begin(call, Operation::kReduce, root, comm);
  if (bystander(call)) return kOk;
  HR_TRY(layout::check_op(op, type));
  call.op = &op;
  call.bytes = bytes_of(count, type);
  if (!call.is_root()) return one_block(sendbuf, count, type, "sendbuf", &call.send);
  HR_TRY(one_block(recvbuf, count, type, "recvbuf", &call.recv));
  if (comm.is_inter()) return kOk;
  call.in_place = is_in_place(sendbuf);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(sendbuf, count, type, 1, &call.send));
  return not_aliased(call.send.all(), call.recv.all());
}

}  // namespace hr::coll
