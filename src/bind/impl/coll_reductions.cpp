// The collective reductions (MPI 5.0 sections 6.9 to 6.11) in their three forms.
#include "bind/impl.hpp"
#include "bind/impl/coll_forms.hpp"

namespace hr::bind::impl {

Status reduce(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op, int root,
              comm::Communicator& comm) {
  return blocking(coll::reduce, sendbuf, recvbuf, count, datatype, op, root, comm);
}

Status ireduce(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op, int root,
               comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::reduce, sendbuf, recvbuf, count, datatype, op, root, comm);
}

Status reduce_init(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
                   int root, comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::reduce, sendbuf, recvbuf, count, datatype, op, root, comm);
}

Status allreduce(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
                 comm::Communicator& comm) {
  return blocking(coll::allreduce, sendbuf, recvbuf, count, datatype, op, comm);
}

Status iallreduce(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
                  comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::allreduce, sendbuf, recvbuf, count, datatype, op, comm);
}

Status allreduce_init(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
                      comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::allreduce, sendbuf, recvbuf, count, datatype, op, comm);
}

Status reduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, layout::Datatype& datatype,
                      layout::Op& op, comm::Communicator& comm) {
  return blocking(coll::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

Status ireduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, layout::Datatype& datatype,
                       layout::Op& op, comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

Status reduce_scatter_init(const void* sendbuf, void* recvbuf, CountArray recvcounts, layout::Datatype& datatype,
                           layout::Op& op, comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

Status reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, layout::Datatype& datatype,
                            layout::Op& op, comm::Communicator& comm) {
  return blocking(coll::reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op, comm);
}

Status ireduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, layout::Datatype& datatype,
                             layout::Op& op, comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op, comm);
}

Status reduce_scatter_block_init(const void* sendbuf, void* recvbuf, Count recvcount, layout::Datatype& datatype,
                                 layout::Op& op, comm::Communicator& comm, comm::Info* /*info*/,
                                 p2p::Request*& request) {
  return persistent(request, coll::reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op, comm);
}

Status scan(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
            comm::Communicator& comm) {
  return blocking(coll::scan, sendbuf, recvbuf, count, datatype, op, comm);
}

Status iscan(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
             comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::scan, sendbuf, recvbuf, count, datatype, op, comm);
}

Status scan_init(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
                 comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::scan, sendbuf, recvbuf, count, datatype, op, comm);
}

Status exscan(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
              comm::Communicator& comm) {
  return blocking(coll::exscan, sendbuf, recvbuf, count, datatype, op, comm);
}

Status iexscan(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
               comm::Communicator& comm, p2p::Request*& request) {
  return nonblocking(request, coll::exscan, sendbuf, recvbuf, count, datatype, op, comm);
}

Status exscan_init(const void* sendbuf, void* recvbuf, Count count, layout::Datatype& datatype, layout::Op& op,
                   comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return persistent(request, coll::exscan, sendbuf, recvbuf, count, datatype, op, comm);
}

}  // namespace hr::bind::impl
