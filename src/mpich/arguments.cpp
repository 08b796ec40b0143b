// Lengths of arrays with one element per peer or neighbour of a communicator.
#include "mpich/arguments.hpp"

#include "mpich/entry.hpp"

namespace hr::mpich {
namespace {

struct Degrees {
  int in = 0;
  int out = 0;
};

Degrees degrees_of(MPI_Comm comm) noexcept {
  Degrees degrees;
  int topology = MPI_UNDEFINED;
  if (comm == nullptr || comm == MPI_COMM_NULL || standard.MPI_Topo_test(comm, &topology) != MPI_SUCCESS)
    return degrees;
  int number = 0;
  if (topology == MPI_CART) {
    if (standard.MPI_Cartdim_get(comm, &number) == MPI_SUCCESS) degrees = {2 * number, 2 * number};
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    standard.MPI_Comm_rank(comm, &rank);
    if (standard.MPI_Graph_neighbors_count(comm, rank, &number) == MPI_SUCCESS) degrees = {number, number};
  } else if (topology == MPI_DIST_GRAPH) {
    int weighted = 0;
    standard.MPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted);
  }
  return degrees;
}

}  // namespace

std::int64_t peers_of(MPI_Comm comm) noexcept {
  int size = 0;
  int remote = 0;
  if (comm == nullptr || comm == MPI_COMM_NULL || standard.MPI_Comm_test_inter(comm, &remote) != MPI_SUCCESS) return 0;
  if (remote != 0) {
    standard.MPI_Comm_remote_size(comm, &size);
  } else {
    standard.MPI_Comm_size(comm, &size);
  }
  return size;
}

std::int64_t sources_of(MPI_Comm comm) noexcept { return degrees_of(comm).in; }
std::int64_t destinations_of(MPI_Comm comm) noexcept { return degrees_of(comm).out; }

}  // namespace hr::mpich
