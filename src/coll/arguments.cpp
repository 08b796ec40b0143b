// Arguments of the operations without a root (sections 6.3, 6.7 to 6.11).
#include "coll/check.hpp"
#include "coll/coll.hpp"

namespace hr::coll {
namespace {

void begin(Call& call, Operation operation, Communicator& comm) {
  call.operation = operation;
  call.comm = &comm;
  call.members = &members_of(comm);
}

// First determines whether the call is in place. A call on an intercommunicator never is: there, only an empty buffer
// may be MPI_IN_PLACE.
Status sends(Call& call, const void* sendbuf, Count sendcount) {
  call.in_place = is_in_place(sendbuf) && !call.comm->is_inter();
  return is_in_place(sendbuf) && sendcount != 0 ? in_place_allowed(*call.comm) : kOk;
}

Status sends(Call& call, const void* sendbuf, CountArray sendcounts) {
  const bool empty =
      is_in_place(sendbuf) && call.comm->is_inter() && !sendcounts.is_null() && none_counted(sendcounts, call.peers());
  return sends(call, sendbuf, empty ? 0 : 1);
}

Status reduction(Call& call, Datatype& type, Op& op) {
  HR_TRY(layout::check_op(op, type));
  call.op = &op;
  return kOk;
}

// Arguments of allreduce, scan and exscan: each buffer is one vector.
Status vectors(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op) {
  HR_TRY(not_in_place(recvbuf, count, "recvbuf"));
  HR_TRY(sends(call, sendbuf, count));
  HR_TRY(reduction(call, type, op));
  HR_TRY(layout::make_view(recvbuf, count, type, call.recv.set_uniform(count, type)));
  call.bytes = call.recv.all().packed;
  if (call.in_place) return kOk;
  HR_TRY(layout::make_view_like(call.recv.all(), sendbuf, call.send.set_uniform(count, type)));
  return not_aliased(call.send.all(), call.recv.all());
}

// Checks that this process's own block is not sent from the memory in which it is received.
Status own_not_aliased(const Call& call, const layout::View& sent) {
  if (call.comm->is_inter()) return kOk;
  layout::View received;
  HR_TRY(call.recv.block(call.rank(), &received));
  return not_aliased(sent, received);
}

Status own_not_aliased(const Call& call) {
  if (call.comm->is_inter()) return kOk;
  layout::View sent;
  HR_TRY(call.send.block(call.rank(), &sent));
  return own_not_aliased(call, sent);
}

Status no_intercommunicator(const Call& call) {
  if (!call.comm->is_inter()) return kOk;
  return fail(Errc::kComm, "%s is not defined on an intercommunicator", name(call.operation));
}

}  // namespace

Status barrier(Call& call, Communicator& comm) {
  begin(call, Operation::kBarrier, comm);
  return kOk;
}

Status allgather(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                 Datatype& recvtype, Communicator& comm) {
  begin(call, Operation::kAllgather, comm);
  HR_TRY(not_in_place(recvbuf, recvcount, "recvbuf"));
  HR_TRY(sends(call, sendbuf, sendcount));
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, call.peers(), &call.recv));
  call.bytes = call.recv.bytes(0);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, 1, &call.send));
  if (comm.is_inter()) return kOk;
  HR_TRY(own_not_aliased(call, call.send.all()));
  return not_aliased(call.send.all(), call.recv.all());
}

Status allgatherv(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype& recvtype, Communicator& comm) {
  begin(call, Operation::kAllgatherv, comm);
  HR_TRY(check_counts(recvcounts, call.peers(), "recvcounts"));
  HR_TRY(not_in_place(recvbuf, recvcounts, call.peers(), "recvbuf"));
  HR_TRY(sends(call, sendbuf, sendcount));
  Count total = 0;
  HR_TRY(total_count(recvcounts, call.peers(), recvtype, &total));
  call.recv = Blocks::counted(recvbuf, recvcounts, displs, recvtype);
  call.bytes = static_cast<std::size_t>(total * recvtype.size() / call.peers());
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, 1, &call.send));
  return own_not_aliased(call, call.send.all());
}

Status alltoall(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                Datatype& recvtype, Communicator& comm) {
  begin(call, Operation::kAlltoall, comm);
  HR_TRY(not_in_place(recvbuf, recvcount, "recvbuf"));
  HR_TRY(sends(call, sendbuf, sendcount));
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, call.peers(), &call.recv));
  call.bytes = call.recv.bytes(0);
  if (call.in_place) return kOk;
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, call.peers(), &call.send));
  return not_aliased(call.send.all(), call.recv.all());
}

Status alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Communicator& comm) {
  begin(call, Operation::kAlltoallv, comm);
  HR_TRY(check_counts(recvcounts, call.peers(), "recvcounts"));
  HR_TRY(not_in_place(recvbuf, recvcounts, call.peers(), "recvbuf"));
  HR_TRY(sends(call, sendbuf, sendcounts));
  call.recv = Blocks::counted(recvbuf, recvcounts, rdispls, recvtype);
  if (call.in_place) return kOk;
  HR_TRY(check_counts(sendcounts, call.peers(), "sendcounts"));
  call.send = Blocks::counted(sendbuf, sendcounts, sdispls, sendtype);
  return own_not_aliased(call);
}

Status alltoallw(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, Types recvtypes, Communicator& comm) {
  begin(call, Operation::kAlltoallw, comm);
  HR_TRY(check_counts(recvcounts, call.peers(), "recvcounts"));
  HR_TRY(not_in_place(recvbuf, recvcounts, call.peers(), "recvbuf"));
  HR_TRY(sends(call, sendbuf, 1));
  call.recv = Blocks::typed(recvbuf, recvcounts, rdispls, recvtypes.data());
  if (call.in_place) return kOk;
  HR_TRY(check_counts(sendcounts, call.peers(), "sendcounts"));
  call.send = Blocks::typed(sendbuf, sendcounts, sdispls, sendtypes.data());
  return own_not_aliased(call);
}

Status allreduce(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op,
                 Communicator& comm) {
  begin(call, Operation::kAllreduce, comm);
  return vectors(call, sendbuf, recvbuf, count, type, op);
}

Status scan(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Communicator& comm) {
  begin(call, Operation::kScan, comm);
  HR_TRY(no_intercommunicator(call));
  return vectors(call, sendbuf, recvbuf, count, type, op);
}

Status exscan(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Communicator& comm) {
  begin(call, Operation::kExscan, comm);
  HR_TRY(no_intercommunicator(call));
  return vectors(call, sendbuf, recvbuf, count, type, op);
}

// In reduce_scatter, send is always the whole vector, in recvbuf if in place; recv is this process's part of
// the result.
Status reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype& type, Op& op,
                      Communicator& comm) {
  begin(call, Operation::kReduceScatter, comm);
  HR_TRY(reduction(call, type, op));
  HR_TRY(check_counts(recvcounts, call.size(), "recvcounts"));
  const Count own = recvcounts[static_cast<std::size_t>(call.rank())];
  HR_TRY(not_in_place(recvbuf, own, "recvbuf"));
  HR_TRY(sends(call, sendbuf, is_in_place(sendbuf) && none_counted(recvcounts, call.size()) ? 0 : 1));
  Count total = 0;
  HR_TRY(total_count(recvcounts, call.size(), type, &total));
  layout::View vector;
  HR_TRY(layout::make_view(call.in_place ? recvbuf : sendbuf, total, type, &vector));
  call.send = Blocks::consecutive(vector, recvcounts);
  call.bytes = vector.packed;
  HR_TRY(uniform_blocks(recvbuf, own, type, 1, &call.recv));
  return call.in_place ? kOk : not_aliased(vector, call.recv.all());
}

Status reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, Count recvcount, Datatype& type, Op& op,
                            Communicator& comm) {
  begin(call, Operation::kReduceScatterBlock, comm);
  HR_TRY(not_in_place(recvbuf, recvcount, "recvbuf"));
  HR_TRY(sends(call, sendbuf, recvcount));
  HR_TRY(reduction(call, type, op));
  HR_TRY(uniform_blocks(call.in_place ? recvbuf : sendbuf, recvcount, type, call.size(), &call.send));
  call.bytes = call.send.all().packed;
  HR_TRY(uniform_blocks(recvbuf, recvcount, type, 1, &call.recv));
  return call.in_place ? kOk : not_aliased(call.send.all(), call.recv.all());
}

}  // namespace hr::coll
