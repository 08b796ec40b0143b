// Barrier and the collectives that move data (MPI 5.0 sections 6.3 to 6.8) in their three forms.
#include "bind/impl.hpp"
#include "bind/impl/coll_forms.hpp"

namespace hr::bind::impl {

Status barrier(comm::Communicator& comm) { return blocking(coll::barrier, comm); }

Status ibarrier(comm::Communicator& comm, p2p::Request*& request) { return nonblocking(request, coll::barrier, comm); }

Status barrier_init(comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::barrier, comm);
}

Status bcast(void* buffer, Count count, layout::Datatype& datatype, int root, comm::Communicator& comm) {
  return blocking(coll::bcast, buffer, count, datatype, root, comm);
}

Status ibcast(void* buffer, Count count, layout::Datatype& datatype, int root, comm::Communicator& comm,
              p2p::Request*& request) {
  return nonblocking(request, coll::bcast, buffer, count, datatype, root, comm);
}

Status bcast_init(void* buffer, Count count, layout::Datatype& datatype, int root, comm::Communicator& comm,
                  comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::bcast, buffer, count, datatype, root, comm);
}

Status gather(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
              layout::Datatype& recvtype, int root, comm::Communicator& comm) {
  return blocking(coll::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status igather(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
               layout::Datatype& recvtype, int root, comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status gather_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                   layout::Datatype& recvtype, int root, comm::Communicator& comm, comm::Info* /*info*/,
                   p2p::Request*& request) {
  return persistent(request, coll::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status gatherv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, CountArray recvcounts,
               CountArray displs, layout::Datatype& recvtype, int root, comm::Communicator& comm) {
  return blocking(coll::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
}

Status igatherv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, CountArray recvcounts,
                CountArray displs, layout::Datatype& recvtype, int root, comm::Communicator& comm,
                p2p::Request*& request) {
  return nonblocking(request, coll::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root,
                     comm);
}

Status gatherv_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                    CountArray recvcounts, CountArray displs, layout::Datatype& recvtype, int root,
                    comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root,
                    comm);
}

Status scatter(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
               layout::Datatype& recvtype, int root, comm::Communicator& comm) {
  return blocking(coll::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status iscatter(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                layout::Datatype& recvtype, int root, comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status scatter_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                    layout::Datatype& recvtype, int root, comm::Communicator& comm, comm::Info* /*info*/,
                    p2p::Request*& request) {
  return persistent(request, coll::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status scatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, layout::Datatype& sendtype,
                void* recvbuf, Count recvcount, layout::Datatype& recvtype, int root, comm::Communicator& comm) {
  return blocking(coll::scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status iscatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, layout::Datatype& sendtype,
                 void* recvbuf, Count recvcount, layout::Datatype& recvtype, int root, comm::Communicator& comm,
                 p2p::Request*& request) {
  return nonblocking(request, coll::scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,
                     comm);
}

Status scatterv_init(const void* sendbuf, CountArray sendcounts, CountArray displs, layout::Datatype& sendtype,
                     void* recvbuf, Count recvcount, layout::Datatype& recvtype, int root, comm::Communicator& comm,
                     comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,
                    comm);
}

Status allgather(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                 layout::Datatype& recvtype, comm::Communicator& comm) {
  return blocking(coll::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status iallgather(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                  layout::Datatype& recvtype, comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status allgather_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                      layout::Datatype& recvtype, comm::Communicator& comm, comm::Info* /*info*/,
                      p2p::Request*& request) {
  return persistent(request, coll::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status allgatherv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, layout::Datatype& recvtype, comm::Communicator& comm) {
  return blocking(coll::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

Status iallgatherv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                   CountArray recvcounts, CountArray displs, layout::Datatype& recvtype, comm::Communicator& comm,
                   p2p::Request*& request) {
  return nonblocking(request, coll::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                     comm);
}

Status allgatherv_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf,
                       CountArray recvcounts, CountArray displs, layout::Datatype& recvtype, comm::Communicator& comm,
                       comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                    comm);
}

Status alltoall(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                layout::Datatype& recvtype, comm::Communicator& comm) {
  return blocking(coll::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status ialltoall(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                 layout::Datatype& recvtype, comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status alltoall_init(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, void* recvbuf, Count recvcount,
                     layout::Datatype& recvtype, comm::Communicator& comm, comm::Info* /*info*/,
                     p2p::Request*& request) {
  return persistent(request, coll::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, layout::Datatype& sendtype,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, layout::Datatype& recvtype,
                 comm::Communicator& comm) {
  return blocking(coll::alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                  comm);
}

Status ialltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, layout::Datatype& sendtype,
                  void* recvbuf, CountArray recvcounts, CountArray rdispls, layout::Datatype& recvtype,
                  comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                     recvtype, comm);
}

Status alltoallv_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls, layout::Datatype& sendtype,
                      void* recvbuf, CountArray recvcounts, CountArray rdispls, layout::Datatype& recvtype,
                      comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                    recvtype, comm);
}

Status alltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                 std::span<layout::Datatype* const> sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                 std::span<layout::Datatype* const> recvtypes, comm::Communicator& comm) {
  return blocking(coll::alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                  comm);
}

Status ialltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                  std::span<layout::Datatype* const> sendtypes, void* recvbuf, CountArray recvcounts,
                  CountArray rdispls, std::span<layout::Datatype* const> recvtypes, comm::Communicator& comm,
                  p2p::Request*& request) {
  return nonblocking(request, coll::alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                     recvtypes, comm);
}

Status alltoallw_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                      std::span<layout::Datatype* const> sendtypes, void* recvbuf, CountArray recvcounts,
                      CountArray rdispls, std::span<layout::Datatype* const> recvtypes, comm::Communicator& comm,
                      comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                    recvtypes, comm);
}

}  // namespace hr::bind::impl
