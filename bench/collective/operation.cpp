#include "collective/operation.hpp"

namespace bench {
namespace {

// The following functions return the number of blocks in a buffer.
int none(const Place&) { return 0; }
int one(const Place&) { return 1; }
int each(const Place& p) { return p.ranks; }
int each_at_root(const Place& p) { return p.rank == kRoot ? p.ranks : 0; }
int one_at_root(const Place& p) { return p.rank == kRoot ? 1 : 0; }
int one_but_first(const Place& p) { return p.rank == 0 ? 0 : 1; }
int neighbours(const Place& p) { return static_cast<int>(p.neighbours.size()); }

long sum(int from, int to, std::size_t i) {
  long total = 0;
  for (int rank = from; rank < to; ++rank) total += sent_value(rank, i);
  return total;
}

// The following functions return an expected element of the receive buffer.
long nothing(const Place&, int, std::size_t, std::size_t) { return 0; }
long of_root(const Place&, int, std::size_t i, std::size_t) { return sent_value(kRoot, i); }
long sum_of_all(const Place& p, int, std::size_t i, std::size_t) { return sum(0, p.ranks, i); }
long sum_of_my_block(const Place& p, int, std::size_t i, std::size_t count) {
  return sum(0, p.ranks, static_cast<std::size_t>(p.rank) * count + i);
}
long sum_up_to_me(const Place& p, int, std::size_t i, std::size_t) { return sum(0, p.rank + 1, i); }
long sum_below_me(const Place& p, int, std::size_t i, std::size_t) { return sum(0, p.rank, i); }
long block_of_rank(const Place&, int block, std::size_t i, std::size_t) { return sent_value(block, i); }
long my_block_of_root(const Place& p, int, std::size_t i, std::size_t count) {
  return sent_value(kRoot, static_cast<std::size_t>(p.rank) * count + i);
}
long my_block_of_rank(const Place& p, int block, std::size_t i, std::size_t count) {
  return sent_value(block, static_cast<std::size_t>(p.rank) * count + i);
}
long block_of_neighbour(const Place& p, int block, std::size_t i, std::size_t) {
  return sent_value(p.neighbours[static_cast<std::size_t>(block)], i);
}
// A block from the lower neighbour is the one that it sent to its own upper neighbour, and vice versa (MPI 5.0 section
// 8.6).
long opposite_block_of_neighbour(const Place& p, int block, std::size_t i, std::size_t count) {
  return sent_value(p.neighbours[static_cast<std::size_t>(block)], static_cast<std::size_t>(block ^ 1) * count + i);
}

// The following functions return the factor from algorithm to bus bandwidth.
double unity(const Place&) { return 1; }
double others(const Place& p) { return static_cast<double>(p.ranks - 1) / p.ranks; }
double twice_others(const Place& p) { return 2 * others(p); }

constexpr bool kCartesian = true;
constexpr bool kApart = true;
constexpr bool kInReceive = true;

// Defines the three forms of a collective. The arguments before the communicator are the same in all; `c` is the Call.
#define FORMS(Name, name, ...)                                                                \
  [](const Call& c) { MPI_##Name(__VA_ARGS__, c.comm); },                                     \
      [](const Call& c, MPI_Request* request) { MPI_I##name(__VA_ARGS__, c.comm, request); }, \
      [](const Call& c, MPI_Request* request) { MPI_##Name##_init(__VA_ARGS__, c.comm, MPI_INFO_NULL, request); }
#define SEND c.send, c.count, c.type
#define RECEIVE c.receive, c.count, c.type
#define SEND_V c.send, c.counts.data(), c.displacements.data(), c.type
#define RECEIVE_V c.receive, c.counts.data(), c.displacements.data(), c.type
#define SEND_W c.send, c.counts.data(), c.byte_displacements.data(), c.types.data()
#define RECEIVE_W c.receive, c.counts.data(), c.byte_displacements.data(), c.types.data()
#define REDUCE c.send, c.receive, c.count, c.type, MPI_SUM

const Operation kOperations[] = {
    {"barrier", !kCartesian, !kApart, none, none, nothing, !kInReceive, unity,
     [](const Call& c) { MPI_Barrier(c.comm); },
     [](const Call& c, MPI_Request* request) { MPI_Ibarrier(c.comm, request); },
     [](const Call& c, MPI_Request* request) { MPI_Barrier_init(c.comm, MPI_INFO_NULL, request); }},
    {"bcast", !kCartesian, kApart, none, one, of_root, kInReceive, unity, FORMS(Bcast, bcast, RECEIVE, kRoot)},
    {"reduce", !kCartesian, kApart, one, one_at_root, sum_of_all, !kInReceive, unity,
     FORMS(Reduce, reduce, REDUCE, kRoot)},
    {"allreduce", !kCartesian, !kApart, one, one, sum_of_all, !kInReceive, twice_others,
     FORMS(Allreduce, allreduce, REDUCE)},
    {"reduce_scatter_block", !kCartesian, !kApart, each, one, sum_of_my_block, !kInReceive, others,
     FORMS(Reduce_scatter_block, reduce_scatter_block, REDUCE)},
    {"reduce_scatter", !kCartesian, !kApart, each, one, sum_of_my_block, !kInReceive, others,
     FORMS(Reduce_scatter, reduce_scatter, c.send, c.receive, c.counts.data(), c.type, MPI_SUM)},
    {"scan", !kCartesian, kApart, one, one, sum_up_to_me, !kInReceive, unity, FORMS(Scan, scan, REDUCE)},
    {"exscan", !kCartesian, kApart, one, one_but_first, sum_below_me, !kInReceive, unity,
     FORMS(Exscan, exscan, REDUCE)},
    {"gather", !kCartesian, kApart, one, each_at_root, block_of_rank, !kInReceive, others,
     FORMS(Gather, gather, SEND, RECEIVE, kRoot)},
    {"gatherv", !kCartesian, kApart, one, each_at_root, block_of_rank, !kInReceive, others,
     FORMS(Gatherv, gatherv, SEND, RECEIVE_V, kRoot)},
    {"scatter", !kCartesian, kApart, each_at_root, one, my_block_of_root, !kInReceive, others,
     FORMS(Scatter, scatter, SEND, RECEIVE, kRoot)},
    {"scatterv", !kCartesian, kApart, each_at_root, one, my_block_of_root, !kInReceive, others,
     FORMS(Scatterv, scatterv, SEND_V, RECEIVE, kRoot)},
    {"allgather", !kCartesian, !kApart, one, each, block_of_rank, !kInReceive, others,
     FORMS(Allgather, allgather, SEND, RECEIVE)},
    {"allgatherv", !kCartesian, !kApart, one, each, block_of_rank, !kInReceive, others,
     FORMS(Allgatherv, allgatherv, SEND, RECEIVE_V)},
    {"alltoall", !kCartesian, !kApart, each, each, my_block_of_rank, !kInReceive, others,
     FORMS(Alltoall, alltoall, SEND, RECEIVE)},
    {"alltoallv", !kCartesian, !kApart, each, each, my_block_of_rank, !kInReceive, others,
     FORMS(Alltoallv, alltoallv, SEND_V, RECEIVE_V)},
    {"alltoallw", !kCartesian, !kApart, each, each, my_block_of_rank, !kInReceive, others,
     FORMS(Alltoallw, alltoallw, SEND_W, RECEIVE_W)},
    {"neighbor_allgather", kCartesian, !kApart, one, neighbours, block_of_neighbour, !kInReceive, unity,
     FORMS(Neighbor_allgather, neighbor_allgather, SEND, RECEIVE)},
    {"neighbor_alltoall", kCartesian, !kApart, neighbours, neighbours, opposite_block_of_neighbour, !kInReceive, unity,
     FORMS(Neighbor_alltoall, neighbor_alltoall, SEND, RECEIVE)},
};

}  // namespace

std::vector<int> grid_neighbours(int rank, const std::vector<int>& sizes) {
  std::vector<int> found;
  int below = 1;  // ranks of one position along the axis, as the last axis varies fastest
  for (const int size : sizes) below *= size;
  for (const int size : sizes) {
    below /= size;
    const int position = rank / below % size;
    const int start = rank - position * below;
    found.push_back(start + (position + size - 1) % size * below);
    found.push_back(start + (position + 1) % size * below);
  }
  return found;
}

Place cartesian_place(MPI_Comm comm, std::vector<int> sizes) {
  Place place;
  MPI_Comm_rank(comm, &place.rank);
  MPI_Comm_size(comm, &place.ranks);
  const int axes = static_cast<int>(sizes.size());
  const std::vector<int> periodic(sizes.size(), 1);
  MPI_Dims_create(place.ranks, axes, sizes.data());
  place.neighbours = grid_neighbours(place.rank, sizes);
  MPI_Cart_create(comm, axes, sizes.data(), periodic.data(), 0, &place.comm);
  return place;
}

Call::Call(const Place& place, int blocks, int count, MPI_Datatype type, int element_bytes, void* send, void* receive)
    : send(send),
      receive(receive),
      count(count),
      type(type),
      comm(place.comm),
      counts(static_cast<std::size_t>(blocks), count),
      displacements(counts.size()),
      byte_displacements(counts.size()),
      types(counts.size(), type) {
  for (int block = 0; block < blocks; ++block) {
    displacements[static_cast<std::size_t>(block)] = block * count;
    byte_displacements[static_cast<std::size_t>(block)] = block * count * element_bytes;
  }
}

std::span<const Operation> operations() { return kOperations; }

const Operation* find_operation(const std::string& name) {
  for (const Operation& operation : kOperations) {
    if (name == operation.name) return &operation;
  }
  return nullptr;
}

}  // namespace bench
