// Process topologies (MPI 5.0 chapter 8; neighborhood collectives are in coll).
#include "comm/topology.hpp"

#include <algorithm>
#include <span>

#include "base/abi.hpp"
#include "bind/impl.hpp"
#include "comm/create.hpp"

namespace hr::bind::impl {

namespace {

// Finds the communicator's topology. Errors: MPI_ERR_TOPOLOGY if it is not of type T.
template <class T>
Status get(const comm::Communicator& comm, comm::Topology::Kind kind, const char* name, const T** topology) {
  if (comm.topology_ == nullptr || comm.topology_->kind() != kind) {
    return fail(Errc::kTopology, "the communicator has no %s topology", name);
  }
  *topology = static_cast<const T*>(comm.topology_.get());
  return kOk;
}

Status grid_of(const comm::Communicator& comm, const comm::Cartesian** grid) {
  return get(comm, comm::Topology::Kind::kCartesian, "Cartesian", grid);
}

Status graph_of(const comm::Communicator& comm, const comm::Graph** graph) {
  return get(comm, comm::Topology::Kind::kGraph, "graph", graph);
}

Status dist_graph_of(const comm::Communicator& comm, const comm::DistGraph** graph) {
  return get(comm, comm::Topology::Kind::kDistGraph, "distributed graph", graph);
}

Status check_rank(const comm::Communicator& comm, int rank) {
  if (rank >= 0 && rank < comm.size()) return kOk;
  return fail(Errc::kRank, "rank %d is outside the communicator of %d processes", rank, comm.size());
}

Status check_room(const char* name, int given, int needed) {
  if (given >= needed) return kOk;
  return fail(Errc::kArg, "%s is %d: %d is needed", name, given, needed);
}

Status check_length(const char* name, int value, Errc error_class) {
  return value >= 0 ? kOk : fail(error_class, "%s is %d: must not be negative", name, value);
}

std::vector<int> list_of(const int* values, int n) { return {values, values + n}; }

void copy_some(const std::vector<int>& values, int n, int* out) {
  std::copy_n(values.begin(), std::min(values.size(), static_cast<std::size_t>(n)), out);
}

Status check_weights(const char* name, const int* weights, std::size_t degree) {
  if (weights == MPI_UNWEIGHTED || degree == 0) return kOk;
  if (weights == nullptr) return fail(Errc::kArg, "%s is null", name);
  if (weights == MPI_WEIGHTS_EMPTY)
    return fail(Errc::kArg, "%s is MPI_WEIGHTS_EMPTY, but there are %zu edges", name, degree);
  return kOk;
}

std::vector<int> weights_of(const int* weights, bool weighted, std::size_t degree) {
  if (!weighted || degree == 0) return {};
  return {weights, weights + degree};
}

Status graph_from(int nnodes, const int* index, const int* edges, std::vector<int>* index_list,
                  std::vector<int>* edge_list) {
  HR_TRY(check_length("nnodes", nnodes, Errc::kArg));
  *index_list = list_of(index, nnodes);
  HR_TRY(comm::check_graph(*index_list, edges));
  *edge_list = list_of(edges, nnodes == 0 ? 0 : index[nnodes - 1]);
  return kOk;
}

}  // namespace

Status topo_test(comm::Communicator& comm, int& status) {
  status = comm.topology_ == nullptr ? abi::kUndefined : comm.topology_->abi_kind();
  return kOk;
}

// --- Cartesian (section 8.5.1 to 8.5.7) ---

Status dims_create(int nnodes, int ndims, int* dims) {
  HR_TRY(check_length("ndims", ndims, Errc::kDims));
  return comm::dims_create(nnodes, {dims, static_cast<std::size_t>(ndims)});
}

Status cart_create(comm::Communicator& comm_old, int ndims, const int* dims, const int* periods, bool,
                   Ref<comm::Communicator>& comm_cart) {
  HR_TRY(check_length("ndims", ndims, Errc::kDims));
  std::vector<bool> wraps(static_cast<std::size_t>(ndims));
  for (int i = 0; i < ndims; ++i) wraps[static_cast<std::size_t>(i)] = periods[i] != 0;
  return comm::cart_create(comm_old, list_of(dims, ndims), std::move(wraps), &comm_cart);
}

Status cart_map(comm::Communicator& comm, int ndims, const int* dims, const int*, int& newrank) {
  HR_TRY(check_length("ndims", ndims, Errc::kDims));
  // A grid with a dimension of 0 has no nodes, so no process has a position in it, as in other libraries.
  const std::span grid(dims, static_cast<std::size_t>(ndims));
  const bool empty =
      std::ranges::find(grid, 0) != grid.end() && std::ranges::all_of(grid, [](int n) { return n >= 0; });
  int nodes = 0;
  if (!empty) HR_TRY(comm::check_grid(grid, &nodes));
  if (nodes > comm.size()) {
    return fail(Errc::kDims, "the grid has %d nodes, the communicator only %d processes", nodes, comm.size());
  }
  newrank = comm.rank() < nodes ? comm.rank() : abi::kUndefined;
  return kOk;
}

Status cartdim_get(comm::Communicator& comm, int& ndims) {
  const comm::Cartesian* grid = nullptr;
  HR_TRY(grid_of(comm, &grid));
  ndims = grid->ndims();
  return kOk;
}

Status cart_get(comm::Communicator& comm, int maxdims, int* dims, int* periods, int* coords) {
  const comm::Cartesian* grid = nullptr;
  HR_TRY(grid_of(comm, &grid));
  HR_TRY(check_room("maxdims", maxdims, grid->ndims()));
  copy_some(grid->dims(), maxdims, dims);
  std::copy(grid->periods().begin(), grid->periods().end(), periods);
  grid->coords_of(comm.rank(), coords);
  return kOk;
}

Status cart_rank(comm::Communicator& comm, const int* coords, int& rank) {
  const comm::Cartesian* grid = nullptr;
  HR_TRY(grid_of(comm, &grid));
  if (coords == nullptr && grid->ndims() > 0) return fail(Errc::kArg, "coords is null");
  return grid->rank_of(coords, &rank);
}

Status cart_coords(comm::Communicator& comm, int rank, int maxdims, int* coords) {
  const comm::Cartesian* grid = nullptr;
  HR_TRY(grid_of(comm, &grid));
  HR_TRY(check_rank(comm, rank));
  HR_TRY(check_room("maxdims", maxdims, grid->ndims()));
  grid->coords_of(rank, coords);
  return kOk;
}

Status cart_shift(comm::Communicator& comm, int direction, int disp, int& rank_source, int& rank_dest) {
  const comm::Cartesian* grid = nullptr;
  HR_TRY(grid_of(comm, &grid));
  if (direction < 0 || direction >= grid->ndims()) {
    return fail(Errc::kDims, "direction %d is outside the %d dimensions of the grid", direction, grid->ndims());
  }
  rank_source = grid->shifted(comm.rank(), direction, -static_cast<Count>(disp));
  rank_dest = grid->shifted(comm.rank(), direction, disp);
  return kOk;
}

Status cart_sub(comm::Communicator& comm, const int* remain_dims, Ref<comm::Communicator>& newcomm) {
  const comm::Cartesian* grid = nullptr;
  HR_TRY(grid_of(comm, &grid));
  if (remain_dims == nullptr && grid->ndims() > 0) return fail(Errc::kArg, "remain_dims is null");
  return comm::cart_sub(comm, remain_dims, &newcomm);
}

// --- graph (section 8.5.3) ---

Status graph_create(comm::Communicator& comm_old, int nnodes, const int* index, const int* edges, bool,
                    Ref<comm::Communicator>& comm_graph) {
  std::vector<int> index_list;
  std::vector<int> edge_list;
  HR_TRY(graph_from(nnodes, index, edges, &index_list, &edge_list));
  return comm::graph_create(comm_old, std::move(index_list), std::move(edge_list), &comm_graph);
}

Status graph_map(comm::Communicator& comm, int nnodes, const int* index, const int* edges, int& newrank) {
  std::vector<int> index_list;
  std::vector<int> edge_list;
  HR_TRY(graph_from(nnodes, index, edges, &index_list, &edge_list));
  if (nnodes > comm.size()) {
    return fail(Errc::kArg, "the graph has %d nodes, the communicator only %d processes", nnodes, comm.size());
  }
  newrank = comm.rank() < nnodes ? comm.rank() : abi::kUndefined;
  return kOk;
}

Status graphdims_get(comm::Communicator& comm, int& nnodes, int& nedges) {
  const comm::Graph* graph = nullptr;
  HR_TRY(graph_of(comm, &graph));
  nnodes = static_cast<int>(graph->index().size());
  nedges = static_cast<int>(graph->edges().size());
  return kOk;
}

Status graph_get(comm::Communicator& comm, int maxindex, int maxedges, int* index, int* edges) {
  const comm::Graph* graph = nullptr;
  HR_TRY(graph_of(comm, &graph));
  HR_TRY(check_room("maxindex", maxindex, static_cast<int>(graph->index().size())));
  HR_TRY(check_room("maxedges", maxedges, static_cast<int>(graph->edges().size())));
  copy_some(graph->index(), maxindex, index);
  copy_some(graph->edges(), maxedges, edges);
  return kOk;
}

Status graph_neighbors_count(comm::Communicator& comm, int rank, int& nneighbors) {
  const comm::Graph* graph = nullptr;
  HR_TRY(graph_of(comm, &graph));
  HR_TRY(check_rank(comm, rank));
  nneighbors = static_cast<int>(graph->neighbors_of(rank).size());
  return kOk;
}

Status graph_neighbors(comm::Communicator& comm, int rank, int maxneighbors, int* neighbors) {
  const comm::Graph* graph = nullptr;
  HR_TRY(graph_of(comm, &graph));
  HR_TRY(check_rank(comm, rank));
  const std::span<const int> found = graph->neighbors_of(rank);
  HR_TRY(check_room("maxneighbors", maxneighbors, static_cast<int>(found.size())));
  std::copy(found.begin(), found.end(), neighbors);
  return kOk;
}

// --- distributed graph (section 8.5.4) ---

Status dist_graph_create_adjacent(comm::Communicator& comm_old, int indegree, const int* sources,
                                  const int* sourceweights, int outdegree, const int* destinations,
                                  const int* destweights, comm::Info* info, bool,
                                  Ref<comm::Communicator>& comm_dist_graph) {
  HR_TRY(check_length("indegree", indegree, Errc::kArg));
  HR_TRY(check_length("outdegree", outdegree, Errc::kArg));
  const auto in_count = static_cast<std::size_t>(indegree);
  const auto out_count = static_cast<std::size_t>(outdegree);
  HR_TRY(check_weights("sourceweights", sourceweights, in_count));
  HR_TRY(check_weights("destweights", destweights, out_count));
  const bool weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
  comm::DistGraph::Edges in{list_of(sources, indegree), weights_of(sourceweights, weighted, in_count)};
  comm::DistGraph::Edges out{list_of(destinations, outdegree), weights_of(destweights, weighted, out_count)};
  return comm::dist_graph_create_adjacent(comm_old, std::move(in), std::move(out), weighted, info, &comm_dist_graph);
}

Status dist_graph_create(comm::Communicator& comm_old, int n, const int* sources, const int* degrees,
                         const int* destinations, const int* weights, comm::Info* info, bool,
                         Ref<comm::Communicator>& comm_dist_graph) {
  HR_TRY(check_length("n", n, Errc::kArg));
  std::size_t edges = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0) return fail(Errc::kArg, "degrees[%d] = %d is negative", i, degrees[i]);
    edges += static_cast<std::size_t>(degrees[i]);
  }
  if (edges > 0 && destinations == nullptr) return fail(Errc::kArg, "destinations is null");
  HR_TRY(check_weights("weights", weights, edges));
  const bool weighted = weights != MPI_UNWEIGHTED;
  const auto count = static_cast<std::size_t>(n);
  const std::span<const int> weight_list = weighted && edges > 0 ? std::span(weights, edges) : std::span<const int>();
  return comm::dist_graph_create(comm_old, {sources, count}, {degrees, count}, {destinations, edges}, weight_list,
                                 weighted, info, &comm_dist_graph);
}

Status dist_graph_neighbors_count(comm::Communicator& comm, int& indegree, int& outdegree, int& weighted) {
  const comm::DistGraph* graph = nullptr;
  HR_TRY(dist_graph_of(comm, &graph));
  indegree = static_cast<int>(graph->in().ranks.size());
  outdegree = static_cast<int>(graph->out().ranks.size());
  weighted = graph->weighted() ? 1 : 0;
  return kOk;
}

// Returns the first maxindegree and maxoutdegree edges (section 8.5.5).
Status dist_graph_neighbors(comm::Communicator& comm, int maxindegree, int* sources, int* sourceweights,
                            int maxoutdegree, int* destinations, int* destweights) {
  const comm::DistGraph* graph = nullptr;
  HR_TRY(dist_graph_of(comm, &graph));
  HR_TRY(check_length("maxindegree", maxindegree, Errc::kArg));
  HR_TRY(check_length("maxoutdegree", maxoutdegree, Errc::kArg));
  copy_some(graph->in().ranks, maxindegree, sources);
  copy_some(graph->out().ranks, maxoutdegree, destinations);
  if (!graph->weighted()) return kOk;
  if (sourceweights != MPI_UNWEIGHTED) copy_some(graph->in().weights, maxindegree, sourceweights);
  if (destweights != MPI_UNWEIGHTED) copy_some(graph->out().weights, maxoutdegree, destweights);
  return kOk;
}

}  // namespace hr::bind::impl
