// Cartesian, graph and distributed graph topologies.
#include <array>
#include <vector>

#include "ring.hpp"

namespace {

void cartesian(const check::Environment& mpi) {
  std::array<int, 2> dims{0, 0};
  CHECK_OK(MPI_Dims_create(mpi.size, 2, dims.data()));
  const std::array<int, 2> periods{1, 0};
  MPI_Comm grid;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims.data(), periods.data(), 1, &grid));
  int kind = 0;
  CHECK_OK(MPI_Topo_test(grid, &kind));
  CHECK_EQ(kind, MPI_CART);
  std::array<int, 2> coords;
  CHECK_OK(MPI_Cart_coords(grid, check::rank_in(grid), 2, coords.data()));
  for (int direction = 0; direction < 2; ++direction) {
    int source = 0;
    int dest = 0;
    CHECK_OK(MPI_Cart_shift(grid, direction, 1, &source, &dest));
    int in = -1;
    const int out = check::rank_in(grid);
    CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, dest, 1, &in, 1, MPI_INT, source, 1, grid, MPI_STATUS_IGNORE));
    if (source != MPI_PROC_NULL) CHECK_EQ(in, source);
    if (direction == 1) CHECK_EQ(source == MPI_PROC_NULL, coords[1] == 0);
  }
  MPI_Comm copy;
  CHECK_OK(MPI_Comm_dup(grid, &copy));
  int ndims = 0;
  CHECK_OK(MPI_Cartdim_get(copy, &ndims));
  CHECK_EQ(ndims, 2);
  MPI_Comm row;
  const std::array<int, 2> remain{0, 1};
  CHECK_OK(MPI_Cart_sub(copy, remain.data(), &row));
  CHECK_EQ(check::size_of(row), dims[1]);
  CHECK_EQ(check::rank_in(row), coords[1]);
  check::ring(row, coords[0]);
  CHECK_OK(MPI_Comm_free(&row));
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Comm_free(&grid));
}

// A grid smaller than the communicator excludes some processes.
void small_grid(const check::Environment& mpi) {
  MPI_Comm grid;
  const int none = 0;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 0, &none, &none, 0, &grid));
  CHECK_EQ(grid != MPI_COMM_NULL, mpi.rank == 0);
  if (grid != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(&grid));
}

void graph(const check::Environment& mpi) {
  std::vector<int> index;
  std::vector<int> edges;
  for (int node = 0; node < mpi.size; ++node) {
    edges.push_back((node + mpi.size - 1) % mpi.size);
    edges.push_back((node + 1) % mpi.size);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm;
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, mpi.size, index.data(), edges.data(), 0, &comm));
  int count = 0;
  CHECK_OK(MPI_Graph_neighbors_count(comm, mpi.rank, &count));
  CHECK_EQ(count, 2);
  std::array<int, 2> neighbors;
  CHECK_OK(MPI_Graph_neighbors(comm, mpi.rank, 2, neighbors.data()));
  CHECK_EQ(neighbors[1], (mpi.rank + 1) % mpi.size);
  check::ring(comm, 2);
  CHECK_OK(MPI_Comm_free(&comm));
}

// Every edge is specified, with its weight, by a process that is neither of its ends.
void distributed_graph(const check::Environment& mpi) {
  const int source = (mpi.rank + 1) % mpi.size;
  const int degree = 2;
  const std::array<int, 2> destinations{(source + 1) % mpi.size, source};
  const std::array<int, 2> weights{10 + source, 20 + source};
  MPI_Comm comm;
  CHECK_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations.data(), weights.data(),
                                 MPI_INFO_NULL, 0, &comm));
  int in = 0;
  int out = 0;
  int weighted = 0;
  CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  CHECK_EQ(in, 2);
  CHECK_EQ(out, 2);
  CHECK(weighted != 0);
  std::array<int, 2> sources, in_weights, targets, out_weights;
  CHECK_OK(MPI_Dist_graph_neighbors(comm, 2, sources.data(), in_weights.data(), 2, targets.data(), out_weights.data()));
  const int left = (mpi.rank + mpi.size - 1) % mpi.size;
  for (int i = 0; i < 2; ++i) {
    // The weight is 10 + left from the left neighbor, and 20 + rank from this process (with one rank, both edges start
    // at rank 0).
    CHECK(in_weights[i] == (in_weights[i] < 20 ? 10 + left : 20 + mpi.rank));
    CHECK(sources[i] == (in_weights[i] < 20 ? left : mpi.rank));
    CHECK(out_weights[i] == (out_weights[i] < 20 ? 10 : 20) + mpi.rank);
  }
  CHECK_OK(MPI_Comm_free(&comm));

  const int right = (mpi.rank + 1) % mpi.size;
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, 0, &comm));
  CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  CHECK_EQ(in, 1);
  CHECK_EQ(weighted, 0);
  check::ring(comm, 4);
  CHECK_OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  cartesian(mpi);
  small_grid(mpi);
  graph(mpi);
  distributed_graph(mpi);
}
