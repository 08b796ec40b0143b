#include "fortran/lengths.hpp"

namespace hr::fortran {
namespace {

struct Neighbours {
  int sources = 0;
  int destinations = 0;
};

Neighbours neighbours(MPI_Comm comm) noexcept {
  Neighbours found;
  int topology = MPI_UNDEFINED;
  if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return found;
  if (topology == MPI_CART) {
    found.sources = found.destinations = 2 * dimensions(comm);
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &found.sources);
    found.destinations = found.sources;
  } else if (topology == MPI_DIST_GRAPH) {
    int weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &found.sources, &found.destinations, &weighted);
  }
  return found;
}

}  // namespace

int sources(MPI_Comm comm) noexcept { return neighbours(comm).sources; }
int destinations(MPI_Comm comm) noexcept { return neighbours(comm).destinations; }

}  // namespace hr::fortran
