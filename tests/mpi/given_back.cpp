// Every method of starting and completing an operation releases its resources: a process stops growing after some
// thousand operations.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kBefore = 300;
constexpr int kTimes = 4000;
// Network libraries touch their buffers, 7 MB with libfabric 1.17, message by message. After this many messages, they
// have touched all of them.
constexpr int kFirst = 150000;
constexpr long kMost = 200 << 10;  // bytes; one leaked request per call would be more

const MPI_Comm world = MPI_COMM_WORLD;

long resident_bytes() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  CHECK(file >> pages >> pages);
  return pages * ::sysconf(_SC_PAGESIZE);
}

struct Exchange {
  int peer;
  int out = 1;
  int in = 0;

  [[nodiscard]] MPI_Request started() {
    MPI_Request request;
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT, peer, 0, world, &request));
    return request;
  }
  static void end(MPI_Request& request) { CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); }
  MPI_Message found() {
    MPI_Message message;
    CHECK_OK(MPI_Mprobe(peer, 0, world, &message, MPI_STATUS_IGNORE));
    return message;
  }

  void matched() {
    MPI_Request request = started();
    MPI_Message message = found();
    CHECK_OK(MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    end(request);
  }
  void matched_later() {
    MPI_Request request = started();
    MPI_Message message = found();
    MPI_Request receive;
    CHECK_OK(MPI_Imrecv(&in, 1, MPI_INT, &message, &receive));
    end(receive);
    end(request);
  }
  void received() {
    MPI_Request request = started();
    CHECK_OK(MPI_Recv(&in, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE));
    end(request);
  }
  void tested() {
    MPI_Request requests[2] = {started(), MPI_REQUEST_NULL};
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, peer, 0, world, &requests[1]));
    for (int flag = 0; flag == 0;) CHECK_OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
  }
  void freed() {
    MPI_Request request = started();
    CHECK_OK(MPI_Request_free(&request));
    CHECK_OK(MPI_Recv(&in, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE));
  }
  void cancelled() {
    MPI_Request request;
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, peer, 1, world, &request));
    CHECK_OK(MPI_Cancel(&request));
    end(request);
  }
  void both() {
    CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Sendrecv_replace(&in, 1, MPI_INT, peer, 0, peer, 0, world, MPI_STATUS_IGNORE));
  }
  void synchronous() {
    MPI_Request request;
    CHECK_OK(MPI_Issend(&out, 1, MPI_INT, peer, 0, world, &request));
    CHECK_OK(MPI_Recv(&in, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE));
    end(request);
  }
  void persistent() {
    MPI_Request requests[2];
    CHECK_OK(MPI_Send_init(&out, 1, MPI_INT, peer, 0, world, &requests[0]));
    CHECK_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, 0, world, &requests[1]));
    CHECK_OK(MPI_Startall(2, requests));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
  }
  void partitioned() {
    MPI_Request requests[2];
    CHECK_OK(MPI_Psend_init(&out, 1, 1, MPI_INT, peer, 0, world, MPI_INFO_NULL, &requests[0]));
    CHECK_OK(MPI_Precv_init(&in, 1, 1, MPI_INT, peer, 0, world, MPI_INFO_NULL, &requests[1]));
    CHECK_OK(MPI_Startall(2, requests));
    CHECK_OK(MPI_Pready(0, requests[0]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
  }
  void collective() {
    MPI_Request request;
    CHECK_OK(MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, world, &request));
    end(request);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  Exchange exchange{mpi.rank ^ 1};
  const struct {
    const char* name;
    void (Exchange::*once)();
  } all[] = {
      {"MPI_Mrecv", &Exchange::matched},         {"MPI_Imrecv", &Exchange::matched_later},
      {"MPI_Recv", &Exchange::received},         {"MPI_Testall", &Exchange::tested},
      {"MPI_Request_free", &Exchange::freed},    {"MPI_Cancel", &Exchange::cancelled},
      {"MPI_Sendrecv", &Exchange::both},         {"MPI_Issend", &Exchange::synchronous},
      {"MPI_Send_init", &Exchange::persistent},  {"MPI_Psend_init", &Exchange::partitioned},
      {"MPI_Iallreduce", &Exchange::collective},
  };
  for (int i = 0; i < kFirst; ++i) exchange.received();
  for (const auto& each : all) {
    for (int i = 0; i < kBefore; ++i) (exchange.*each.once)();
    const long before = resident_bytes();
    for (int i = 0; i < kTimes; ++i) (exchange.*each.once)();
    const long grown = resident_bytes() - before;
    if (grown > kMost)
      check::fail(__FILE__, __LINE__, std::string(each.name) + ": " + std::to_string(grown) + " bytes more");
    CHECK_OK(MPI_Barrier(world));
  }
  return 0;
}
