// Persistent collectives that are started many times, in a different order on each rank, so that each request goes from
// messages to shared memory of its own; the memory of a few requests only, which is given back with them.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

using Ints = std::vector<int>;

// A request, and the functions that fill its buffers for a round, and check what it received.
struct Persistent {
  MPI_Request request = MPI_REQUEST_NULL;
  Ints send, recv;
  std::function<void(int round)> fill;
  std::function<void(int round)> check;
};

int part(int round, int source, int i) { return (round * 131 + source) * 1009 + i; }

int sum_of_parts(int round, int size, int i) {
  int sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += part(round, rank, i);
  return sum;
}

void fill_own(Persistent& made, const Where& where, int round) {
  for (std::size_t i = 0; i < made.send.size(); ++i) made.send[i] = part(round, where.rank, static_cast<int>(i));
  std::fill(made.recv.begin(), made.recv.end(), kPoison);
}

void make_allreduce(Persistent& made, const Where& where, int count) {
  made.send.resize(static_cast<std::size_t>(count));
  made.recv.resize(made.send.size());
  CHECK_OK(MPI_Allreduce_init(made.send.data(), made.recv.data(), count, MPI_INT, MPI_SUM, where.comm, MPI_INFO_NULL,
                              &made.request));
  made.fill = [&made, where](int round) { fill_own(made, where, round); };
  made.check = [&made, where](int round) {
    for (std::size_t i = 0; i < made.recv.size(); ++i)
      CHECK_EQ(made.recv[i], sum_of_parts(round, where.size, static_cast<int>(i)));
  };
}

void make_allgather(Persistent& made, const Where& where, int count) {
  made.send.resize(static_cast<std::size_t>(count));
  made.recv.resize(made.send.size() * static_cast<std::size_t>(where.size));
  CHECK_OK(MPI_Allgather_init(made.send.data(), count, MPI_INT, made.recv.data(), count, MPI_INT, where.comm,
                              MPI_INFO_NULL, &made.request));
  made.fill = [&made, where](int round) { fill_own(made, where, round); };
  made.check = [&made, count](int round) {
    for (std::size_t i = 0; i < made.recv.size(); ++i) {
      const int at = static_cast<int>(i);
      CHECK_EQ(made.recv[i], part(round, at / count, at % count));
    }
  };
}

void make_bcast(Persistent& made, const Where& where, int count, int root) {
  made.recv.resize(static_cast<std::size_t>(count));
  CHECK_OK(MPI_Bcast_init(made.recv.data(), count, MPI_INT, root, where.comm, MPI_INFO_NULL, &made.request));
  made.fill = [&made, where, root](int round) {
    for (std::size_t i = 0; i < made.recv.size(); ++i)
      made.recv[i] = where.rank == root ? part(round, root, static_cast<int>(i)) : kPoison;
  };
  made.check = [&made, root](int round) {
    for (std::size_t i = 0; i < made.recv.size(); ++i) CHECK_EQ(made.recv[i], part(round, root, static_cast<int>(i)));
  };
}

// Each rank gives each other one its own number of elements, as arrays that are freed before the first start.
void make_alltoallv(Persistent& made, const Where& where) {
  const auto length = [](int from, int to) { return 1 + (from * 5 + to * 3) % 40; };
  Ints out, in, sdispls, rdispls;
  int sent = 0, received = 0;
  for (int peer = 0; peer < where.size; ++peer) {
    sdispls.push_back(sent);
    rdispls.push_back(received);
    out.push_back(length(where.rank, peer));
    in.push_back(length(peer, where.rank));
    sent += out.back();
    received += in.back();
  }
  made.send.resize(static_cast<std::size_t>(sent));
  made.recv.resize(static_cast<std::size_t>(received));
  CHECK_OK(MPI_Alltoallv_init(made.send.data(), out.data(), sdispls.data(), MPI_INT, made.recv.data(), in.data(),
                              rdispls.data(), MPI_INT, where.comm, MPI_INFO_NULL, &made.request));
  made.fill = [&made, where, out](int round) {
    std::size_t at = 0;
    for (int to = 0; to < where.size; ++to) {
      for (int i = 0; i < out[static_cast<std::size_t>(to)]; ++i)
        made.send[at++] = part(round, where.rank, to * 100 + i);
    }
    std::fill(made.recv.begin(), made.recv.end(), kPoison);
  };
  made.check = [&made, where, in](int round) {
    std::size_t at = 0;
    for (int from = 0; from < where.size; ++from) {
      for (int i = 0; i < in[static_cast<std::size_t>(from)]; ++i)
        CHECK_EQ(made.recv[at++], part(round, from, where.rank * 100 + i));
    }
  };
}

void make_barrier(Persistent& made, const Where& where) {
  CHECK_OK(MPI_Barrier_init(where.comm, MPI_INFO_NULL, &made.request));
  made.fill = made.check = [](int) {};
}

// Number of files of shared memory that this process has mapped.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);)
    found += line.find("/dev/shm/") != std::string::npos || line.find("/memfd:headrace.") != std::string::npos ? 1 : 0;
  return found;
}

// Starts and completes all requests, each rank in an order of its own.
void round_of(std::vector<Persistent>& all, const Where& where, int round) {
  const std::size_t count = all.size();
  const auto at = [&](std::size_t i) -> Persistent& {
    const std::size_t first = static_cast<std::size_t>(where.rank + round) % count;
    return all[where.rank % 2 == 0 ? (first + i) % count : (first + count - i) % count];
  };
  for (std::size_t i = 0; i < count; ++i) {
    at(i).fill(round);
    CHECK_OK(MPI_Start(&at(i).request));
  }
  for (std::size_t i = count; i-- > 0;) CHECK_OK(MPI_Wait(&at(i).request, MPI_STATUS_IGNORE));
  for (Persistent& each : all) each.check(round);
}

constexpr int kRounds = 20;
constexpr int kLongCount = 30000;
constexpr std::size_t kRequests = 6;

void restarted(const Where& where, int* mapped) {
  std::vector<Persistent> all(kRequests);
  make_allreduce(all[0], where, 3);
  make_allgather(all[1], where, 5);
  make_bcast(all[2], where, kLongCount, where.size - 1);
  make_alltoallv(all[3], where);
  make_allreduce(all[4], where, 4000);
  make_barrier(all[5], where);
  for (int round = 0; round < kRounds; ++round) round_of(all, where, round);
  *mapped = mappings();
  for (Persistent& each : all) CHECK_OK(MPI_Request_free(&each.request));
}

}  // namespace

//   mpi_coll_restarts [shared]   shared: fails if no request uses shared memory, or if too many do
int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  const Where where(MPI_COMM_WORLD);
  const int before = mappings();
  // Twice: the second set of requests gets memory only if the first gave it back.
  for (int set = 0; set < 2; ++set) {
    int mapped = 0;
    restarted(where, &mapped);
    if (argc > 1 && std::strcmp(argv[1], "shared") == 0) {
      CHECK(mapped >= before + 4);  // four requests have flag lines
      CHECK(mapped <= before + 8);  // and some have data slots, too
      CHECK_EQ(mappings(), before);
    }
  }
  return 0;
}
