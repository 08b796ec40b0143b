// Neighborhood collectives (section 8.6): one message to every destination and one from every source, all in flight at
// once.
//
// A process may be a neighbor several times; its messages then match in the order they are posted. On a Cartesian grid,
// data sent in direction -1 arrives from direction +1, so receives are posted with the two directions of a dimension
// exchanged; otherwise the messages of a periodic dimension of one or two processes would be mixed up.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using Neighbors = comm::Topology::Neighbors;

bool sends_one_block(Operation operation) noexcept {
  return operation == Operation::kNeighborAllgather || operation == Operation::kNeighborAllgatherv;
}

Task run(const Call& call) {
  const comm::Topology& topology = call.members->topology();
  const Neighbors neighbors = topology.neighbors(call.rank());
  const int sources = static_cast<int>(neighbors.sources.size());
  const int destinations = static_cast<int>(neighbors.destinations.size());
  const int flip = topology.kind() == comm::Topology::Kind::kCartesian ? 1 : 0;
  const bool same = sends_one_block(call.operation);
  p2p::RequestList requests(neighbors.sources.size() + neighbors.destinations.size());
  View view;
  for (int i = 0; i < sources; ++i) {
    const int neighbor = i ^ flip;
    const int from = neighbors.sources[static_cast<std::size_t>(neighbor)];
    if (from == abi::kProcNull || call.recv.bytes(neighbor) == 0) continue;
    HR_CO_TRY(call.recv.block(neighbor, &view));
    HR_CO_TRY(receive_from(call, from, view, requests.next()));
  }
  for (int neighbor = 0; neighbor < destinations; ++neighbor) {
    const int to = neighbors.destinations[static_cast<std::size_t>(neighbor)];
    const int block = same ? 0 : neighbor;
    if (to == abi::kProcNull || call.send.bytes(block) == 0) continue;
    HR_CO_TRY(call.send.block(block, &view));
    HR_CO_TRY(send_to(call, to, view, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm neighbor_linear = {
    "linear",
    serves(Operation::kNeighborAllgather, Operation::kNeighborAllgatherv, Operation::kNeighborAlltoall,
           Operation::kNeighborAlltoallv, Operation::kNeighborAlltoallw),
    &intra, &run};

}  // namespace hr::coll
