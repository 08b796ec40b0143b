// coll: the collective operations of MPI 5.0 chapter 6 and the neighborhood collectives of section 8.6, for bind/.
//
// Every operation has one function here that checks its arguments and describes it as a Call; run(), start() and
// init() then execute it in its blocking, non-blocking and persistent form:
//
//   Call call;
//   HR_TRY(coll::allreduce(call, sendbuf, recvbuf, count, type, op, comm));
//   return coll::run(call);
//
// Buffers may be in any memory; MPI_IN_PLACE is recognised. Arguments are those of the C functions, in the same order.
// Errors (section 9.4): MPI_ERR_BUFFER (in place where it is not allowed, the same memory for send and receive, or from
// make_view()), MPI_ERR_COUNT, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_UNSUPPORTED_OPERATION; from run() and in the
// request, MPI_ERR_TRUNCATE and the errors of p2p.
// Threads: library lock.
#pragma once

#include <span>

#include "coll/call.hpp"
#include "p2p/request.hpp"

namespace hr::coll {

using comm::Communicator;
using layout::Datatype;
using layout::Op;
using Types = std::span<Datatype* const>;

// Called in MPI_Init, after boot's init() and before its next fence; in MPI_Finalize, once no communicator is in use.
void init();
void finalize();

// --- The three forms. Each enqueues the operation in the communicator's sequence of collectives ---
Status run(Call& call);
// *request: receives one reference, which the caller owns.
Status start(Call& call, p2p::Request** request);
Status init(Call& call, p2p::Request** request);
// Returns the call that a request created by init() owns; null for other requests.
[[nodiscard]] const Call* call_of(const p2p::Request& request) noexcept;

// Checks a call before it is executed; may be null. While it is set, events::let_checker_look() must be on. If it
// returns an error, the call ends with this error. Owner: check/.
inline Status (*call_checker)(const Call& call) = nullptr;

// --- Sections 6.3 to 6.11. `call` must be default-constructed ---
Status barrier(Call& call, Communicator& comm);
Status bcast(Call& call, void* buffer, Count count, Datatype& type, int root, Communicator& comm);
Status gather(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
              Datatype& recvtype, int root, Communicator& comm);
Status gatherv(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
               CountArray recvcounts, CountArray displs, Datatype& recvtype, int root, Communicator& comm);
Status scatter(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
               Datatype& recvtype, int root, Communicator& comm);
Status scatterv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype& sendtype,
                void* recvbuf, Count recvcount, Datatype& recvtype, int root, Communicator& comm);
Status allgather(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                 Datatype& recvtype, Communicator& comm);
Status allgatherv(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype& recvtype, Communicator& comm);
Status alltoall(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                Datatype& recvtype, Communicator& comm);
Status alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Communicator& comm);
Status alltoallw(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, Types recvtypes, Communicator& comm);
Status reduce(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, int root,
              Communicator& comm);
Status allreduce(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op,
                 Communicator& comm);
Status reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype& type, Op& op,
                      Communicator& comm);
Status reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, Count recvcount, Datatype& type, Op& op,
                            Communicator& comm);
Status scan(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Communicator& comm);
Status exscan(Call& call, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Communicator& comm);

// MPI_Reduce_local: no communication, so no Call.
Status reduce_local(const void* inbuf, void* inoutbuf, Count count, Datatype& type, Op& op);

// --- Section 8.6. Errors: MPI_ERR_TOPOLOGY for a communicator without a topology ---
Status neighbor_allgather(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                          Count recvcount, Datatype& recvtype, Communicator& comm);
Status neighbor_allgatherv(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                           CountArray recvcounts, CountArray displs, Datatype& recvtype, Communicator& comm);
Status neighbor_alltoall(Call& call, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                         Count recvcount, Datatype& recvtype, Communicator& comm);
Status neighbor_alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                          Datatype& sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                          Datatype& recvtype, Communicator& comm);
Status neighbor_alltoallw(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes,
                          void* recvbuf, CountArray recvcounts, CountArray rdispls, Types recvtypes,
                          Communicator& comm);

}  // namespace hr::coll
