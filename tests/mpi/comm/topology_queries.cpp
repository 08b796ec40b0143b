// Queries of a topology, and its mapping of processes; the info object of a session; requests that are queried without
// being completed.
#include <array>
#include <vector>

#include "ring.hpp"

namespace {

void cartesian(const check::Environment& mpi) {
  const std::array<int, 2> dims{mpi.size, 1}, periods{1, 0};
  MPI_Comm grid;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims.data(), periods.data(), 0, &grid));
  std::array<int, 2> said{-7, -7}, wraps{-7, -7}, coords{-7, -7};
  CHECK_OK(MPI_Cart_get(grid, 2, said.data(), wraps.data(), coords.data()));
  CHECK(said == dims && wraps == periods);
  CHECK_EQ(coords[0], check::rank_in(grid));
  CHECK_EQ(coords[1], 0);
  for (int i = -1; i <= mpi.size; ++i) {
    const std::array<int, 2> at{i, 0};
    int rank = -7;
    CHECK_OK(MPI_Cart_rank(grid, at.data(), &rank));
    CHECK_EQ(rank, (i + mpi.size) % mpi.size);
  }
  CHECK_OK(MPI_Comm_free(&grid));

  int place = -7;
  CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims.data(), periods.data(), &place));
  CHECK(place >= 0 && place < mpi.size);
  const std::array<int, 2> one{1, 1};
  CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, one.data(), periods.data(), &place));
  const std::array<int, 2> none{mpi.size, 0};
  int nowhere = -7;
  CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, none.data(), periods.data(), &nowhere));
  CHECK_EQ(nowhere, MPI_UNDEFINED);
  int inside = place == 0 ? 1 : 0, all = -1;
  CHECK(place == 0 || place == MPI_UNDEFINED);
  CHECK_OK(MPI_Allreduce(&inside, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(all, 1);
}

// Each node has an edge to each later one and to itself.
void graph(const check::Environment& mpi) {
  std::vector<int> index, edges;
  for (int node = 0; node < mpi.size; ++node) {
    for (int to = node; to < mpi.size; ++to) edges.push_back(to);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm made;
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, mpi.size, index.data(), edges.data(), 0, &made));
  int nodes = -7, ends = -7;
  CHECK_OK(MPI_Graphdims_get(made, &nodes, &ends));
  CHECK_EQ(nodes, mpi.size);
  CHECK_EQ(ends, edges.size());
  std::vector<int> its_index(index.size(), -7), its_edges(edges.size(), -7);
  CHECK_OK(MPI_Graph_get(made, nodes, ends, its_index.data(), its_edges.data()));
  CHECK(its_index == index && its_edges == edges);
  CHECK_OK(MPI_Comm_free(&made));

  int place = -7;
  CHECK_OK(MPI_Graph_map(MPI_COMM_WORLD, mpi.size, index.data(), edges.data(), &place));
  CHECK(place >= 0 && place < mpi.size);
}

void session() {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "mpi,system"));
  MPI_Session made;
  CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &made));
  MPI_Info used = MPI_INFO_NULL;
  CHECK_OK(MPI_Session_get_info(made, &used));
  CHECK(used != MPI_INFO_NULL);
  CHECK_OK(MPI_Info_free(&used));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Session_finalize(&made));
}

// The message of one of two receives has arrived, and queries report that repeatedly.
void requests(const check::Environment& mpi) {
  int values[2] = {-1, -1}, out[2] = {10, 11};
  MPI_Request receives[2];
  CHECK_OK(MPI_Irecv(&values[0], 1, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD, &receives[0]));
  CHECK_OK(MPI_Irecv(&values[1], 1, MPI_INT, mpi.rank, 2, MPI_COMM_WORLD, &receives[1]));
  CHECK_OK(MPI_Send(&out[1], 1, MPI_INT, mpi.rank, 2, MPI_COMM_WORLD));
  for (int i = 0; i < 2; ++i) {
    int count = 0, which[2] = {-7, -7};
    MPI_Status statuses[2];
    while (count == 0) {
      count = -7;
      CHECK_OK(MPI_Request_get_status_some(2, receives, &count, which, statuses));
    }
    CHECK_EQ(count, 1);
    CHECK_EQ(which[0], 1);
    CHECK_EQ(statuses[0].MPI_TAG, 2);
    CHECK(receives[1] != MPI_REQUEST_NULL);
  }
  CHECK_OK(MPI_Send(&out[0], 1, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD));
  CHECK_OK(MPI_Waitall(2, receives, MPI_STATUSES_IGNORE));
  CHECK(values[0] == 10 && values[1] == 11);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  cartesian(mpi);
  graph(mpi);
  session();
  requests(mpi);
  return 0;
}
