// Partitioned communication (MPI 5.0 chapter 4).
#include "p2p/partitioned.hpp"

#include "bind/impl.hpp"
#include "bind/impl/completion.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/raise.hpp"

namespace hr::bind::impl {
namespace {

using Init = Status (*)(const p2p::PartitionedArguments&, p2p::Request**);

Status make(Init init, const void* buf, int partitions, Count count, layout::Datatype& datatype, int peer, int tag,
            comm::Communicator& comm, p2p::Request*& request) {
  if (partitions < 0) return fail(Errc::kArg, "partitions is %d, which is negative", partitions);
  if (count < 0) return fail(Errc::kCount, "count is %lld, which is negative", static_cast<long long>(count));
  if (!datatype.committed()) return fail(Errc::kType, "datatype is not committed; call MPI_Type_commit first");
  Count all = 0;
  if (__builtin_mul_overflow(count, static_cast<Count>(partitions), &all))
    return fail(Errc::kCount, "%d partitions of %lld elements are more than can be counted", partitions,
                static_cast<long long>(count));
  p2p::PartitionedArguments arguments;
  HR_TRY(layout::make_view(buf, all, datatype, &arguments.data));
  arguments.partitions = partitions;
  arguments.context = comm.context() + comm::kPartitionedContext;
  arguments.tag = tag;
  arguments.own_rank = comm.rank();
  arguments.peer_rank = peer;
  arguments.peer_proc = peer == abi::kProcNull ? -1 : comm.peer_proc(peer);
  HR_TRY(init(arguments, &request));
  keep_communicator(*request, comm);
  return kOk;
}

Status find_partitioned(MPI_Request handle, p2p::Request** request) {
  HR_TRY(find_request(handle, -1, request));
  return *request != nullptr ? kOk : fail(Errc::kRequest, "request is MPI_REQUEST_NULL, which has no partitions");
}

}  // namespace

Status psend_init(const void* buf, int partitions, Count count, layout::Datatype& datatype, int dest, int tag,
                  comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return make(p2p::partitioned_send_init, buf, partitions, count, datatype, dest, tag, comm, request);
}

Status precv_init(void* buf, int partitions, Count count, layout::Datatype& datatype, int source, int tag,
                  comm::Communicator& comm, comm::Info* /*info*/, p2p::Request*& request) {
  return make(p2p::partitioned_receive_init, buf, partitions, count, datatype, source, tag, comm, request);
}

Status pready(int partition, MPI_Request request) { return pready_range(partition, partition, request); }

Status pready_range(int partition_low, int partition_high, MPI_Request request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_partitioned(request, &object));
  return raised_for(*object, p2p::partitions_ready(*object, partition_low, partition_high));
}

Status pready_list(int length, const int* array_of_partitions, MPI_Request request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_partitioned(request, &object));
  return raised_for(*object, p2p::partitions_ready(*object, length, array_of_partitions));
}

Status parrived(MPI_Request request, int partition, int& flag) {
  flag = 1;
  if (request == MPI_REQUEST_NULL) return kOk;
  p2p::Request* object = nullptr;
  HR_TRY(find_partitioned(request, &object));
  bool arrived = false;
  HR_TRY(raised_for(*object, p2p::partition_arrived(*object, partition, &arrived)));
  flag = arrived ? 1 : 0;
  return kOk;
}

}  // namespace hr::bind::impl
