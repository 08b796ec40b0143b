// Arguments of the neighborhood collectives (section 8.6).
#include "coll/check.hpp"
#include "coll/coll.hpp"

namespace hr::coll {
namespace {

struct Degrees {
  int in;
  int out;
};

Status begin(Call& call, Operation operation, Communicator& comm, Degrees* degrees) {
  call.operation = operation;
  call.comm = &comm;
  call.members = &members_of(comm);
  if (comm.topology_ == nullptr) {
    return fail(Errc::kTopology,
                "the communicator has no topology, so no process has neighbors in it; make one with "
                "MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create");
  }
  const comm::Topology::Neighbors neighbors = comm.topology_->neighbors(comm.rank());
  degrees->in = static_cast<int>(neighbors.sources.size());
  degrees->out = static_cast<int>(neighbors.destinations.size());
  return kOk;
}

}  // namespace

Status neighbor_allgather(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                          Count recvcount, Datatype& recvtype, Communicator& comm) {
  Degrees degrees{};
  HR_TRY(begin(call, Operation::kNeighborAllgather, comm, &degrees));
  HR_TRY(not_in_place(sendbuf, sendcount, "sendbuf"));
  HR_TRY(not_in_place(recvbuf, recvcount, "recvbuf"));
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, 1, &call.send));
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, degrees.in, &call.recv));
  return not_aliased(call.send.all(), call.recv.all());
}

Status neighbor_allgatherv(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                           CountArray recvcounts, CountArray displs, Datatype& recvtype, Communicator& comm) {
  Degrees degrees{};
  HR_TRY(begin(call, Operation::kNeighborAllgatherv, comm, &degrees));
  HR_TRY(check_counts(recvcounts, degrees.in, "recvcounts"));
  HR_TRY(not_in_place(sendbuf, sendcount, "sendbuf"));
  HR_TRY(not_in_place(recvbuf, recvcounts, degrees.in, "recvbuf"));
  call.recv = Blocks::counted(recvbuf, recvcounts, displs, recvtype);
  return uniform_blocks(sendbuf, sendcount, sendtype, 1, &call.send);
}

Status neighbor_alltoall(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                         Count recvcount, Datatype& recvtype, Communicator& comm) {
  Degrees degrees{};
  HR_TRY(begin(call, Operation::kNeighborAlltoall, comm, &degrees));
  HR_TRY(not_in_place(sendbuf, sendcount, "sendbuf"));
  HR_TRY(not_in_place(recvbuf, recvcount, "recvbuf"));
  HR_TRY(uniform_blocks(sendbuf, sendcount, sendtype, degrees.out, &call.send));
  HR_TRY(uniform_blocks(recvbuf, recvcount, recvtype, degrees.in, &call.recv));
  return not_aliased(call.send.all(), call.recv.all());
}

Status neighbor_alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                          Datatype& sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                          Datatype& recvtype, Communicator& comm) {
  Degrees degrees{};
  HR_TRY(begin(call, Operation::kNeighborAlltoallv, comm, &degrees));
  HR_TRY(check_counts(sendcounts, degrees.out, "sendcounts"));
  HR_TRY(check_counts(recvcounts, degrees.in, "recvcounts"));
  HR_TRY(not_in_place(sendbuf, sendcounts, degrees.out, "sendbuf"));
  HR_TRY(not_in_place(recvbuf, recvcounts, degrees.in, "recvbuf"));
  call.send = Blocks::counted(sendbuf, sendcounts, sdispls, sendtype);
  call.recv = Blocks::counted(recvbuf, recvcounts, rdispls, recvtype);
  return kOk;
}

Status neighbor_alltoallw(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes,
                          void* recvbuf, CountArray recvcounts, CountArray rdispls, Types recvtypes,
                          Communicator& comm) {
  Degrees degrees{};
  HR_TRY(begin(call, Operation::kNeighborAlltoallw, comm, &degrees));
  HR_TRY(check_counts(sendcounts, degrees.out, "sendcounts"));
  HR_TRY(check_counts(recvcounts, degrees.in, "recvcounts"));
  HR_TRY(not_in_place(sendbuf, sendcounts, degrees.out, "sendbuf"));
  HR_TRY(not_in_place(recvbuf, recvcounts, degrees.in, "recvbuf"));
  call.send = Blocks::typed(sendbuf, sendcounts, sdispls, sendtypes.data());
  call.recv = Blocks::typed(recvbuf, recvcounts, rdispls, recvtypes.data());
  return kOk;
}

}  // namespace hr::coll
