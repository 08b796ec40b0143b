// Special cases of collectives through shared memory: every size at which the algorithm changes, members that are late
// or several operations ahead of others, communicators that overlap, memory freed with the communicator, and a machine
// without free memory.
//
//   mpi_coll_shared_memory                 with shared memory
//   mpi_coll_shared_memory no-room         rank 0 cannot create the file
//   mpi_coll_shared_memory no-descriptor   the last rank cannot open it
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

using Longs = std::vector<long>;

long item(int round, int rank, std::size_t i) { return round * 1000003L + rank * 1009L + static_cast<long>(i); }

Longs filled(int round, int rank, std::size_t count, std::size_t first = 0) {
  Longs made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = item(round, rank, first + i);
  return made;
}

void late(const Where& where, int round) {
  if (round % where.size != where.rank) return;
  const double until = MPI_Wtime() + 300e-6;
  while (MPI_Wtime() < until) {
  }
}

void sums(const Where& where, int round, std::size_t count) {
  const auto length = static_cast<int>(count);
  const int root = round % where.size;
  const Longs send = filled(round, where.rank, count);
  Longs wanted(count);
  for (std::size_t i = 0; i < count; ++i) {
    wanted[i] = where.size * item(round, 0, i) + 1009L * where.size * (where.size - 1) / 2;
  }
  Longs recv(count, -1);
  CHECK_OK(MPI_Allreduce(send.data(), recv.data(), length, MPI_LONG, MPI_SUM, where.comm));
  CHECK(recv == wanted);
  Longs in_place = send;
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, in_place.data(), length, MPI_LONG, MPI_SUM, where.comm));
  CHECK(in_place == wanted);
  late(where, round + 1);
  std::fill(recv.begin(), recv.end(), -1);
  CHECK_OK(MPI_Reduce(send.data(), recv.data(), length, MPI_LONG, MPI_SUM, root, where.comm));
  CHECK(recv == (where.rank == root ? wanted : Longs(count, -1)));
  in_place = send;
  const bool at_root = where.rank == root;
  CHECK_OK(MPI_Reduce(at_root ? MPI_IN_PLACE : send.data(), at_root ? in_place.data() : nullptr, length, MPI_LONG,
                      MPI_SUM, root, where.comm));
  if (at_root) CHECK(in_place == wanted);
}

void movements(const Where& where, int round, std::size_t count) {
  const auto length = static_cast<int>(count);
  const auto size = static_cast<std::size_t>(where.size);
  const int root = round % where.size;
  Longs data = where.rank == root ? filled(round, root, count) : Longs(count, -1);
  CHECK_OK(MPI_Bcast(data.data(), length, MPI_LONG, root, where.comm));
  CHECK(data == filled(round, root, count));

  const Longs own = filled(round, where.rank, count);
  Longs all(count * size, -1);
  late(where, round);
  CHECK_OK(MPI_Allgather(own.data(), length, MPI_LONG, all.data(), length, MPI_LONG, where.comm));
  const auto expect_from_all = [&](const Longs& found, bool one_for_each) {
    for (std::size_t from = 0; from < size; ++from) {
      const std::size_t first = one_for_each ? static_cast<std::size_t>(where.rank) * count : 0;
      const Longs block = filled(round, static_cast<int>(from), count, first);
      CHECK(std::equal(block.begin(), block.end(), found.begin() + static_cast<std::ptrdiff_t>(from * count)));
    }
  };
  expect_from_all(all, false);

  const Longs send = filled(round, where.rank, count * size);
  std::fill(all.begin(), all.end(), -1);
  CHECK_OK(MPI_Alltoall(send.data(), length, MPI_LONG, all.data(), length, MPI_LONG, where.comm));
  expect_from_all(all, true);
  all = send;
  CHECK_OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), length, MPI_LONG, where.comm));
  expect_from_all(all, true);

  std::fill(all.begin(), all.end(), -1);
  CHECK_OK(MPI_Gather(own.data(), length, MPI_LONG, all.data(), length, MPI_LONG, root, where.comm));
  if (where.rank == root) expect_from_all(all, false);
  std::fill(data.begin(), data.end(), -1);
  const Longs to_scatter = filled(round, root, count * size);
  CHECK_OK(MPI_Scatter(to_scatter.data(), length, MPI_LONG, data.data(), length, MPI_LONG, root, where.comm));
  CHECK(data == filled(round, root, count, static_cast<std::size_t>(where.rank) * count));
}

// Vectors of eight-byte elements around every size at which the algorithm changes or another piece begins.
void every_threshold(const Where& where) {
  std::vector<std::size_t> counts = {1, 2, 3};
  for (const std::size_t bytes : {48, 4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576}) {
    const std::size_t count = bytes / 8;
    counts.insert(counts.end(), {count - 1, count, count + 1});
    counts.push_back(count / static_cast<std::size_t>(where.size));  // all blocks together reach this size
  }
  int round = 0;
  for (const std::size_t count : counts) {
    if (count * 8 * static_cast<std::size_t>(where.size) > 4U << 20) continue;
    sums(where, ++round, count);
    movements(where, ++round, count);
  }
}

// Operations of all lengths follow one another so often that flag lines and data slots are reused many times:
// no operation may overwrite parts that another one still reads.
void lengths_at_random(const Where& where) {
  unsigned seed = std::random_device{}();
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, where.comm));
  if (where.rank == 0) std::printf("lengths_at_random: seed %u\n", seed);
  std::mt19937 random(seed);
  constexpr std::size_t kRound[] = {6, 128, 256, 512, 1024, 2048, 4096};  // numbers of longs: 48 B to 32 KiB
  for (int round = 0; round < 120; ++round) {
    const std::size_t count = kRound[random() % std::size(kRound)] - 3 + random() % 7;
    if (random() % 2 == 0) {
      sums(where, round, count);
    } else {
      movements(where, round, count);
    }
  }
}

// Sums of elements that are longer than the pieces in which vectors pass through slots.
void long_elements(const Where& where) {
  for (const int longs : {500, 700, 4100, 5000, 8192}) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op sum = MPI_OP_NULL;
    CHECK_OK(MPI_Type_contiguous(longs, MPI_LONG, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Op_create(
        [](void* in, void* inout, int* count, MPI_Datatype* of) {
          int bytes = 0;
          MPI_Type_size(*of, &bytes);
          const auto all = static_cast<std::size_t>(*count) * static_cast<std::size_t>(bytes) / sizeof(long);
          for (std::size_t i = 0; i < all; ++i) static_cast<long*>(inout)[i] += static_cast<long*>(in)[i];
        },
        1, &sum));
    for (int round = 0; round < 24; ++round) {
      const std::size_t count = static_cast<std::size_t>(longs) * static_cast<std::size_t>(1 + round % 4);
      const int root = round / 3 % where.size;
      const Longs send = filled(round, where.rank, count);
      Longs wanted(count, -1);
      for (std::size_t i = 0; i < count && where.rank == root; ++i) {
        wanted[i] = where.size * item(round, 0, i) + 1009L * where.size * (where.size - 1) / 2;
      }
      Longs recv(count, -1);
      late(where, round);
      CHECK_OK(MPI_Reduce(send.data(), recv.data(), 1 + round % 4, type, sum, root, where.comm));
      CHECK(recv == wanted);
    }
    CHECK_OK(MPI_Op_free(&sum));
    CHECK_OK(MPI_Type_free(&type));
  }
}

// No rank needs to wait for the others: senders are far ahead of late ranks, with short and long data alternately.
void running_ahead(const Where& where) {
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t count = round % 7 == 0 ? 20000 : round % 5 == 0 ? 3000 : 5;
    if (where.rank == where.size - 1 && round % 20 == 0) late({where}, where.rank);
    Longs data = where.rank == 0 ? filled(round, 0, count) : Longs(count, -1);
    CHECK_OK(MPI_Bcast(data.data(), static_cast<int>(count), MPI_LONG, 0, where.comm));
    CHECK(data == filled(round, 0, count));
    const long own = item(round, where.rank, 0);
    Longs all(static_cast<std::size_t>(where.size), -1);
    CHECK_OK(MPI_Gather(&own, 1, MPI_LONG, all.data(), 1, MPI_LONG, where.size - 1, where.comm));
    for (int from = 0; from < where.size && where.rank == where.size - 1; ++from) {
      CHECK_EQ(all[static_cast<std::size_t>(from)], item(round, from, 0));
    }
  }
}

// Pending operations of every length, with blocking ones and messages between them, are completed in reverse order.
void pending(const Where& where) {
  constexpr std::size_t kMany = 12;
  std::vector<Longs> send(kMany);
  std::vector<Longs> recv(kMany);
  std::vector<MPI_Request> requests(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::size_t count = std::size_t{1} << (i + 3);
    send[i] = filled(static_cast<int>(i), where.rank, count);
    recv[i].assign(count, -1);
    CHECK_OK(MPI_Iallreduce(send[i].data(), recv[i].data(), static_cast<int>(count), MPI_LONG, MPI_MAX, where.comm,
                            &requests[i]));
    if (i % 3 == 1) {
      const int next = (where.rank + 1) % where.size;
      int got = -1;
      CHECK_OK(MPI_Sendrecv(&where.rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, where.comm,
                            MPI_STATUS_IGNORE));
      CHECK_EQ(got, (where.rank + where.size - 1) % where.size);
    }
    if (i % 4 == 2) CHECK_OK(MPI_Barrier(where.comm));
  }
  for (std::size_t i = kMany; i-- > 0;) {
    CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK(recv[i] == filled(static_cast<int>(i), where.size - 1, send[i].size()));
  }
}

int mappings() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("headrace.") == std::string::npos) continue;
    CHECK(line.find("(deleted)") != std::string::npos);  // a file in use has no name
    ++found;
  }
  return found;
}

// Communicators and their memory are created and freed, also while an operation is pending.
void made_and_freed(MPI_Comm parent) {
  int before = 0;
  for (int cycle = 0; cycle < 60; ++cycle) {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_dup(parent, &comm));
    const Where where(comm);
    for (int i = 0; i < 6; ++i) sums(where, i, i == 5 ? 10000 : 10);
    long sum = 0;
    const long one = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Iallreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm, &request));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(sum, where.size);
    if (cycle == 10) before = mappings();
  }
  CHECK_EQ(mappings(), before);
}

// Pairs around a ring, where each process is in two of them, used in different orders.
void overlapping(const Where& world) {
  if (world.size < 3) return;
  MPI_Comm pairs[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Group all = MPI_GROUP_NULL;
  CHECK_OK(MPI_Comm_group(world.comm, &all));
  for (int first = 0; first < world.size; ++first) {
    const int members[2] = {first, (first + 1) % world.size};
    const bool mine = members[0] == world.rank || members[1] == world.rank;
    if (!mine) continue;
    MPI_Group pair = MPI_GROUP_NULL;
    CHECK_OK(MPI_Group_incl(all, 2, members, &pair));
    CHECK_OK(MPI_Comm_create_group(world.comm, pair, first, &pairs[members[0] == world.rank ? 0 : 1]));
    CHECK_OK(MPI_Group_free(&pair));
  }
  CHECK_OK(MPI_Group_free(&all));
  for (int round = 0; round < 20; ++round) {
    long sum[2] = {0, 0};
    MPI_Request requests[2];
    const long own = item(round, world.rank, 0);
    for (int i = 0; i < 2; ++i) {
      const int which = (world.rank + round + i) % 2;
      CHECK_OK(MPI_Iallreduce(&own, &sum[which], 1, MPI_LONG, MPI_SUM, pairs[which], &requests[i]));
    }
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(sum[0], own + item(round, (world.rank + 1) % world.size, 0));
    CHECK_EQ(sum[1], own + item(round, (world.rank + world.size - 1) % world.size, 0));
  }
  for (MPI_Comm& pair : pairs) CHECK_OK(MPI_Comm_free(&pair));
}

void allow(int resource, rlim_t limit) {
  rlimit limits{};
  CHECK_EQ(getrlimit(static_cast<__rlimit_resource_t>(resource), &limits), 0);
  limits.rlim_cur = std::min(limit, limits.rlim_max);
  CHECK_EQ(setrlimit(static_cast<__rlimit_resource_t>(resource), &limits), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  const std::string mode = argc > 1 ? argv[1] : "";
  const Where world(MPI_COMM_WORLD);
  if (mode == "no-room" && world.rank == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    allow(RLIMIT_FSIZE, 4096);
  }
  if (mode == "no-descriptor" && world.rank == world.size - 1) allow(RLIMIT_NOFILE, 3);
  every_threshold(world);
  lengths_at_random(world);
  long_elements(world);
  running_ahead(world);
  pending(world);
  if (mode.empty()) made_and_freed(MPI_COMM_WORLD);
  overlapping(world);
  MPI_Comm halves = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, -world.rank, &halves));
  every_threshold(Where(halves));
  running_ahead(Where(halves));
  CHECK_OK(MPI_Comm_free(&halves));
  return 0;
}
