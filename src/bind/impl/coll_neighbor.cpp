// The neighborhood collectives (MPI 5.0 section 8.6) in their three forms.
#include "bind/impl.hpp"
#include "bind/impl/coll_forms.hpp"

namespace hr::bind::impl {

Status neighbor_allgather(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                          Count recvcount, layout::Datatype& recvtype, comm::Communicator& comm) {
  return blocking(coll::neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status ineighbor_allgather(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                           Count recvcount, layout::Datatype& recvtype, comm::Communicator& comm,
                           p2p::Request*& request) {
  return nonblocking(request, coll::neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                     comm);
}

Status neighbor_allgather_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                               Count recvcount, layout::Datatype& recvtype, comm::Communicator& comm,
                               comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                    comm);
}

Status neighbor_allgatherv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                           CountArray recvcounts, CountArray displs, layout::Datatype& recvtype,
                           comm::Communicator& comm) {
  return blocking(coll::neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

Status ineighbor_allgatherv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                            CountArray recvcounts, CountArray displs, layout::Datatype& recvtype,
                            comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                     recvtype, comm);
}

Status neighbor_allgatherv_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                                CountArray recvcounts, CountArray displs, layout::Datatype& recvtype,
                                comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                    recvtype, comm);
}

Status neighbor_alltoall(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                         Count recvcount, layout::Datatype& recvtype, comm::Communicator& comm) {
  return blocking(coll::neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status ineighbor_alltoall(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                          Count recvcount, layout::Datatype& recvtype, comm::Communicator& comm,
                          p2p::Request*& request) {
  return nonblocking(request, coll::neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                     comm);
}

Status neighbor_alltoall_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                              Count recvcount, layout::Datatype& recvtype, comm::Communicator& comm,
                              comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status neighbor_alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, layout::Datatype& sendtype,
                          void* recvbuf, CountArray recvcounts, CountArray rdispls, layout::Datatype& recvtype,
                          comm::Communicator& comm) {
  return blocking(coll::neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                  recvtype, comm);
}

Status ineighbor_alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, layout::Datatype& sendtype,
                           void* recvbuf, CountArray recvcounts, CountArray rdispls, layout::Datatype& recvtype,
                           comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                     rdispls, recvtype, comm);
}

Status neighbor_alltoallv_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                               layout::Datatype& sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                               layout::Datatype& recvtype, comm::Communicator& comm, comm::Info* /*info*/,
                               p2p::Request*& request) {
  return persistent(request, coll::neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                    rdispls, recvtype, comm);
}

Status neighbor_alltoallw(const void* sendbuf, CountArray sendcounts, const MPI_Aint* sdispls,
                          std::span<layout::Datatype* const> sendtypes, void* recvbuf, CountArray recvcounts,
                          const MPI_Aint* rdispls, std::span<layout::Datatype* const> recvtypes,
                          comm::Communicator& comm) {
  return blocking(coll::neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                  recvtypes, comm);
}

Status ineighbor_alltoallw(const void* sendbuf, CountArray sendcounts, const MPI_Aint* sdispls,
                           std::span<layout::Datatype* const> sendtypes, void* recvbuf, CountArray recvcounts,
                           const MPI_Aint* rdispls, std::span<layout::Datatype* const> recvtypes,
                           comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                     rdispls, recvtypes, comm);
}

Status neighbor_alltoallw_init(const void* sendbuf, CountArray sendcounts, const MPI_Aint* sdispls,
                               std::span<layout::Datatype* const> sendtypes, void* recvbuf, CountArray recvcounts,
                               const MPI_Aint* rdispls, std::span<layout::Datatype* const> recvtypes,
                               comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                    rdispls, recvtypes, comm);
}

}  // namespace hr::bind::impl
