// Partitions marked and tested through MPIX_Prequest (include/mpix-device.h), here by host threads outside MPI:
// tests/gpu/partitioned_kernel does the same with kernels. It also checks incorrect use.
#include <string>
#include <thread>
#include <vector>

#include "../common/check.hpp"
#include "mpix.h"

namespace {

constexpr int kSends = 12, kReceives = 8, kUnit = 500, kElements = kSends * kReceives * kUnit;
constexpr int kStarts = 20;

int item(int rank, int start, int i) { return rank * 100003 + start * 1009 + i; }

void ring(const check::Environment& mpi, bool null_process) {
  const int next = null_process ? MPI_PROC_NULL : (mpi.rank + 1) % mpi.size;
  const int before = null_process ? MPI_PROC_NULL : (mpi.rank + mpi.size - 1) % mpi.size;
  std::vector<int> from(kElements), to(kElements);
  MPI_Request requests[2];
  MPIX_Prequest marks, asks;
  CHECK_OK(MPI_Psend_init(from.data(), kSends, kElements / kSends, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
  CHECK_OK(MPI_Precv_init(to.data(), kReceives, kElements / kReceives, MPI_INT, before, 1, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &requests[1]));
  CHECK_OK(MPIX_Prequest_create(requests[0], &marks));
  CHECK_OK(MPIX_Prequest_create(requests[1], &asks));
  CHECK_EQ(marks.partitions, kSends);
  CHECK_EQ(asks.partitions, kReceives);
  for (int start = 0; start < kStarts; ++start) {
    to.assign(kElements, -1);
    CHECK_OK(MPI_Startall(2, requests));
    CHECK_EQ(MPIX_Parrived(asks, kReceives), 0);
    const auto write = [&](int partition) {
      const int each = kElements / kSends;
      for (int i = partition * each; i < (partition + 1) * each; ++i) from[i] = item(mpi.rank, start, i);
    };
    const int of_host = start % 2 == 0 ? 5 : -1;  // partition marked with an MPI call, among the others
    if (of_host >= 0) {
      write(of_host);
      CHECK_OK(MPI_Pready(of_host, requests[0]));
    }
    std::thread writer([&] {
      for (int k = 0; k < kSends; ++k) {
        const int partition = (k * 7 + start) % kSends;
        if (partition == of_host) continue;
        write(partition);
        MPIX_Pready(partition, marks);
      }
    });
    int wrong = 0;
    std::thread reader([&] {
      for (int partition = 0; partition < kReceives; ++partition) {
        while (MPIX_Parrived(asks, partition) == 0) std::this_thread::yield();
        const int each = kElements / kReceives;
        for (int i = partition * each; i < (partition + 1) * each; ++i)
          wrong += !null_process && to[i] != item(before, start, i) ? 1 : 0;
      }
    });
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    writer.join();
    reader.join();
    CHECK_EQ(wrong, 0);
  }
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

void wrong_use() {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  int value = 1, got = 0;
  MPI_Request ordinary, send, receive;
  MPIX_Prequest marks;
  CHECK_OK(MPI_Send_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &ordinary));
  CHECK_EQ(check::error_class(MPIX_Prequest_create(ordinary, &marks)), MPI_ERR_REQUEST);
  CHECK_EQ(check::error_class(MPIX_Prequest_create(MPI_REQUEST_NULL, &marks)), MPI_ERR_REQUEST);
  CHECK_EQ(check::error_class(MPIX_Prequest_create(ordinary, nullptr)), MPI_ERR_ARG);
  CHECK_OK(MPI_Request_free(&ordinary));
  CHECK_OK(MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Precv_init(&got, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &receive));
  CHECK_OK(MPI_Start(&send));
  const int late = MPIX_Prequest_create(send, &marks);
  CHECK_EQ(check::error_class(late), MPI_ERR_REQUEST);
  CHECK(check::error_text(late).find("before MPI_Start") != std::string::npos);
  CHECK_OK(MPI_Start(&receive));
  CHECK_OK(MPI_Pready(0, send));
  CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK_EQ(got, 1);
  CHECK_OK(MPIX_Prequest_create(send, &marks));
  CHECK_OK(MPIX_Prequest_free(&marks));
  MPIX_Pready(0, marks);  // `marks` no longer has partitions
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  ring(mpi, false);
  ring(mpi, true);
  wrong_use();
  return 0;
}
