// Neighborhood collectives on grids, graphs and distributed graphs, in three forms. In the grids, every dimension is
// periodic, even one with one or two processes, where a process is its own neighbor or has the same neighbor twice.
#include "coll_test.hpp"

using namespace coll_test;

namespace {

struct Edges {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  std::vector<int> sources, destinations;
  // Blocks of the sources' send buffers: block source_block[i] arrives from sources[i].
  std::vector<int> source_block;
};

int tag_of(int source, int block, int k) { return value(1, source, block, 0, k); }

// A block has `count` integers, or count + slot % 2 in the v and w forms; its values include the block number.
void alltoall(const Edges& e, int count, Form form) {
  const std::size_t out = e.destinations.size();
  const std::size_t in = e.sources.size();
  std::vector<int> send(out * static_cast<std::size_t>(count) + 1);
  std::vector<int> recv(in * static_cast<std::size_t>(count) + 1, kPoison);
  for (std::size_t i = 0; i < out; ++i) {
    for (int k = 0; k < count; ++k)
      send[i * static_cast<std::size_t>(count) + static_cast<std::size_t>(k)] = tag_of(e.rank, static_cast<int>(i), k);
  }
  EXECUTE(form, N, n, eighbor_alltoall, send.data(), count, MPI_INT, recv.data(), count, MPI_INT, e.comm);
  for (std::size_t i = 0; i < in; ++i) {
    for (int k = 0; k < count; ++k) {
      const int wanted = e.sources[i] == MPI_PROC_NULL ? kPoison : tag_of(e.sources[i], e.source_block[i], k);
      CHECK_EQ(recv[i * static_cast<std::size_t>(count) + static_cast<std::size_t>(k)], wanted);
    }
  }
  CHECK_EQ(recv.back(), kPoison);
}

// Returns the length of block number `block` of a process: both ends compute it.
int length(int source, int block) { return (source + 2 * block) % 4; }

void alltoallv(const Edges& e, bool typed, Form form) {
  const std::size_t out = e.destinations.size();
  const std::size_t in = e.sources.size();
  constexpr int kStride = 5;
  std::vector<int> send(out * kStride + 1, 0);
  std::vector<int> recv(in * kStride + 1, kPoison);
  std::vector<int> send_counts(out + 1), send_displs(out + 1), recv_counts(in + 1), recv_displs(in + 1);
  std::vector<MPI_Aint> send_bytes(out + 1), recv_bytes(in + 1);
  const std::vector<MPI_Datatype> types(out + in + 1, MPI_INT);
  for (std::size_t i = 0; i < out; ++i) {
    send_counts[i] = e.destinations[i] == MPI_PROC_NULL ? 2 : length(e.rank, static_cast<int>(i));
    send_displs[i] = static_cast<int>((out - 1 - i) * kStride);
    send_bytes[i] = send_displs[i] * static_cast<MPI_Aint>(sizeof(int));
    for (int k = 0; k < send_counts[i]; ++k)
      send[static_cast<std::size_t>(send_displs[i] + k)] = tag_of(e.rank, static_cast<int>(i), k);
  }
  for (std::size_t i = 0; i < in; ++i) {
    recv_counts[i] = e.sources[i] == MPI_PROC_NULL ? 3 : length(e.sources[i], e.source_block[i]);
    recv_displs[i] = static_cast<int>((in - 1 - i) * kStride);
    recv_bytes[i] = recv_displs[i] * static_cast<MPI_Aint>(sizeof(int));
  }
  if (typed) {
    EXECUTE(form, N, n, eighbor_alltoallw, send.data(), send_counts.data(), send_bytes.data(), types.data(),
            recv.data(), recv_counts.data(), recv_bytes.data(), types.data(), e.comm);
  } else {
    EXECUTE(form, N, n, eighbor_alltoallv, send.data(), send_counts.data(), send_displs.data(), MPI_INT, recv.data(),
            recv_counts.data(), recv_displs.data(), MPI_INT, e.comm);
  }
  for (std::size_t i = 0; i < in; ++i) {
    for (int k = 0; k < kStride; ++k) {
      const bool arrives = e.sources[i] != MPI_PROC_NULL && k < recv_counts[i];
      CHECK_EQ(recv[static_cast<std::size_t>(recv_displs[i] + k)],
               arrives ? tag_of(e.sources[i], e.source_block[i], k) : kPoison);
    }
  }
}

void allgather(const Edges& e, bool vector, Form form) {
  constexpr int kStride = 4;
  const std::size_t in = e.sources.size();
  const auto count_of = [&](int source) { return vector ? length(source, 0) : 3; };
  std::vector<int> send(kStride);
  std::vector<int> recv(in * kStride + 1, kPoison);
  std::vector<int> counts(in + 1), displs(in + 1);
  for (int k = 0; k < kStride; ++k) send[static_cast<std::size_t>(k)] = tag_of(e.rank, 0, k);
  for (std::size_t i = 0; i < in; ++i) {
    counts[i] = e.sources[i] == MPI_PROC_NULL ? 1 : count_of(e.sources[i]);
    displs[i] = static_cast<int>(vector ? (in - 1 - i) * kStride : i * 3);
  }
  if (vector) {
    EXECUTE(form, N, n, eighbor_allgatherv, send.data(), count_of(e.rank), MPI_INT, recv.data(), counts.data(),
            displs.data(), MPI_INT, e.comm);
  } else {
    EXECUTE(form, N, n, eighbor_allgather, send.data(), 3, MPI_INT, recv.data(), 3, MPI_INT, e.comm);
  }
  for (std::size_t i = 0; i < in; ++i) {
    for (int k = 0; k < count_of(e.sources[i]); ++k) {
      const int wanted = e.sources[i] == MPI_PROC_NULL ? kPoison : tag_of(e.sources[i], 0, k);
      CHECK_EQ(recv[static_cast<std::size_t>(displs[i] + k)], wanted);
    }
  }
}

void all(const Edges& edges) {
  for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent}) {
    for (const int count : {0, 1, 3, 20000}) alltoall(edges, count, form);
    for (const bool choice : {false, true}) {
      alltoallv(edges, choice, form);
      allgather(edges, choice, form);
    }
  }
}

void grid(int size, std::vector<int> dims, bool periodic) {
  Edges e;
  const std::vector<int> periods(dims.size(), periodic ? 1 : 0);
  CHECK_OK(MPI_Dims_create(size, static_cast<int>(dims.size()), dims.data()));
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dims.size()), dims.data(), periods.data(), 0, &e.comm));
  if (e.comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(e.comm, &e.rank);
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    int before = 0;
    int after = 0;
    CHECK_OK(MPI_Cart_shift(e.comm, d, 1, &before, &after));
    for (const int neighbor : {before, after}) {
      e.sources.push_back(neighbor);
      e.destinations.push_back(neighbor);
    }
    // The previous process sends in the positive direction: its second block of the dimension.
    e.source_block.push_back(2 * d + 1);
    e.source_block.push_back(2 * d);
  }
  all(e);
  CHECK_OK(MPI_Comm_free(&e.comm));
}

// Rank i sends to i + 1 twice and to i + 3; the receives correspond.
void dist_graph(int size, int rank) {
  Edges e;
  e.rank = rank;
  e.destinations = {(rank + 1) % size, (rank + 3) % size, (rank + 1) % size};
  e.sources = {(rank + 3 * size - 3) % size, (rank + size - 1) % size, (rank + size - 1) % size};
  e.source_block = {1, 0, 2};
  // The data of edges between the same two processes arrives in the order in which it is sent.
  if ((size - 2) % size == 0 || size <= 2) {
    e.source_block = {0, 1, 2};
  }
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, e.sources.data(), MPI_UNWEIGHTED, 3, e.destinations.data(),
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &e.comm));
  all(e);
  CHECK_OK(MPI_Comm_free(&e.comm));
}

// A graph that is a ring in both directions.
void graph(int size, int rank) {
  if (size < 3) return;
  std::vector<int> index;
  std::vector<int> edges;
  for (int i = 0; i < size; ++i) {
    edges.push_back((i + 1) % size);
    edges.push_back((i + size - 1) % size);
    index.push_back(2 * (i + 1));
  }
  Edges e;
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &e.comm));
  e.rank = rank;
  e.sources = {(rank + 1) % size, (rank + size - 1) % size};
  e.destinations = e.sources;
  e.source_block = {1, 0};
  all(e);
  CHECK_OK(MPI_Comm_free(&e.comm));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  for (const bool periodic : {false, true}) {
    // Other libraries mix up the directions of periodic dimensions of one or two processes (MPI Forum issue 153).
    if (periodic && !check::headrace()) continue;
    grid(mpi.size, {0}, periodic);
    grid(mpi.size, {0, 0}, periodic);
    grid(mpi.size, {0, 0, 0}, periodic);
  }
  dist_graph(mpi.size, mpi.rank);
  graph(mpi.size, mpi.rank);
  return 0;
}
