// MPI_Cart_create, MPI_Cart_sub, MPI_Graph_create and MPI_Dist_graph_create(_adjacent).
#include <cstring>
#include <utility>

#include "base/abi.hpp"
#include "comm/create.hpp"
#include "comm/create/assemble.hpp"

namespace hr::comm {

namespace {

// Creates a communicator of the first `nodes` processes of `comm` with this topology.
Status create_with(Communicator& comm, int nodes, std::unique_ptr<Topology> topology, Ref<Communicator>* result,
                   const Info* hints = nullptr) {
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  Ref<Communicator> made;
  if (comm.rank() < nodes) {
    made = assemble(group_of(members.procs.front(nodes), *comm.local_), {}, comm.errhandler_);
    HR_TRY(check_no_room(made));
    made->topology_ = std::move(topology);
    set_info(*made, hints);
  }
  HR_TRY(agree(members, made));
  *result = std::move(made);
  return kOk;
}

Status check_neighbors(const Communicator& comm, std::span<const int> ranks, const char* what) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= comm.size()) {
      return fail(Errc::kRank, "%s[%zu] = %d is outside the communicator of %d processes", what, i, ranks[i],
                  comm.size());
    }
  }
  return kOk;
}

struct Edge {
  int source;
  int destination;
  int weight;
};

std::vector<std::byte> pack_edges(std::span<const int> sources, std::span<const int> degrees,
                                  std::span<const int> destinations, std::span<const int> weights) {
  std::vector<Edge> edges;
  edges.reserve(destinations.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (int j = 0; j < degrees[i]; ++j, ++next) {
      edges.push_back({sources[i], destinations[next], weights.empty() ? 0 : weights[next]});
    }
  }
  std::vector<std::byte> blob(edges.size() * sizeof(Edge));
  if (!blob.empty()) std::memcpy(blob.data(), edges.data(), blob.size());
  return blob;
}

}  // namespace

Status cart_create(Communicator& comm, std::vector<int> dims, std::vector<bool> periods, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  int nodes = 0;
  HR_TRY(check_grid(dims, &nodes));
  if (nodes > comm.size()) {
    return fail(Errc::kDims, "the grid has %d nodes, the communicator only %d processes", nodes, comm.size());
  }
  return create_with(comm, nodes, std::make_unique<Cartesian>(std::move(dims), std::move(periods)), result);
}

Status cart_sub(Communicator& comm, const int* remain, Ref<Communicator>* result) {
  if (comm.topology_ == nullptr || comm.topology_->kind() != Topology::Kind::kCartesian) {
    return fail(Errc::kTopology, "the communicator has no Cartesian topology");
  }
  const auto& grid = static_cast<const Cartesian&>(*comm.topology_);
  const auto ndims = static_cast<std::size_t>(grid.ndims());
  std::vector<int> coords(ndims);
  grid.coords_of(comm.rank(), coords.data());
  std::vector<int> dims;
  std::vector<bool> periods;
  int color = 0;
  int key = 0;
  for (std::size_t i = 0; i < ndims; ++i) {
    if (remain[i] != 0) {
      dims.push_back(grid.dims()[i]);
      periods.push_back(grid.periods()[i]);
      key = key * grid.dims()[i] + coords[i];
    } else {
      color = color * grid.dims()[i] + coords[i];
    }
  }
  HR_TRY(split(comm, color, key, result));
  (*result)->topology_ = std::make_unique<Cartesian>(std::move(dims), std::move(periods));
  return kOk;
}

Status graph_create(Communicator& comm, std::vector<int> index, std::vector<int> edges, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  HR_TRY(check_graph(index, edges.data()));
  const auto nodes = static_cast<int>(index.size());
  if (nodes > comm.size()) {
    return fail(Errc::kArg, "the graph has %d nodes, the communicator only %d processes", nodes, comm.size());
  }
  return create_with(comm, nodes, std::make_unique<Graph>(std::move(index), std::move(edges)), result);
}

Status dist_graph_create_adjacent(Communicator& comm, DistGraph::Edges in, DistGraph::Edges out, bool weighted,
                                  const Info* hints, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  HR_TRY(check_neighbors(comm, in.ranks, "sources"));
  HR_TRY(check_neighbors(comm, out.ranks, "destinations"));
  return create_with(comm, comm.size(), std::make_unique<DistGraph>(std::move(in), std::move(out), weighted), result,
                     hints);
}

Status dist_graph_create(Communicator& comm, std::span<const int> sources, std::span<const int> degrees,
                         std::span<const int> destinations, std::span<const int> weights, bool weighted,
                         const Info* hints, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  HR_TRY(check_neighbors(comm, sources, "sources"));
  HR_TRY(check_neighbors(comm, destinations, "destinations"));
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  const std::vector<std::byte> own = pack_edges(sources, degrees, destinations, weights);
  std::vector<std::vector<std::byte>> gathered;
  HR_TRY(p2p::run_blocking(allgather_blobs(members, &own, &gathered)));
  // Orders the edges by the process that passed them, so that both ends of an edge see the same order.
  DistGraph::Edges in;
  DistGraph::Edges out;
  for (const std::vector<std::byte>& blob : gathered) {
    for (std::size_t offset = 0; offset < blob.size(); offset += sizeof(Edge)) {
      Edge edge;
      std::memcpy(&edge, blob.data() + offset, sizeof edge);
      if (edge.destination == comm.rank()) {
        in.ranks.push_back(edge.source);
        if (weighted) in.weights.push_back(edge.weight);
      }
      if (edge.source == comm.rank()) {
        out.ranks.push_back(edge.destination);
        if (weighted) out.weights.push_back(edge.weight);
      }
    }
  }
  return create_with(comm, comm.size(), std::make_unique<DistGraph>(std::move(in), std::move(out), weighted), result,
                     hints);
}

}  // namespace hr::comm
