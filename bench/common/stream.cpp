#include "common/stream.hpp"

#include <vector>

namespace bench {
namespace {

constexpr int kDataTag = 1;
constexpr int kAnswerTag = 2;

char* slot(void* base, const Transfer& transfer, int message) {
  return static_cast<char*>(base) + static_cast<std::size_t>(message % transfer.slots) * transfer.bytes;
}

void post_receives(const Transfer& transfer, MPI_Request* requests) {
  for (int m = 0; m < transfer.window; ++m) {
    MPI_Irecv(slot(transfer.receive, transfer, m), static_cast<int>(transfer.bytes), MPI_BYTE, transfer.pair.peer,
              kDataTag, transfer.pair.comm, &requests[m]);
  }
}

void post_sends(const Transfer& transfer, MPI_Request* requests) {
  for (int m = 0; m < transfer.window; ++m) {
    MPI_Isend(slot(transfer.send, transfer, m), static_cast<int>(transfer.bytes), MPI_BYTE, transfer.pair.peer,
              kDataTag, transfer.pair.comm, &requests[m]);
  }
}

void answer(const Transfer& transfer, bool sender) {
  char byte = 0;
  if (sender) {
    MPI_Recv(&byte, 1, MPI_BYTE, transfer.pair.peer, kAnswerTag, transfer.pair.comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&byte, 1, MPI_BYTE, transfer.pair.peer, kAnswerTag, transfer.pair.comm);
  }
}

}  // namespace

void stream_one_way(const Transfer& transfer) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(transfer.window));
  for (int i = 0; i < transfer.iterations; ++i) {
    if (transfer.pair.lower) {
      post_sends(transfer, requests.data());
    } else {
      post_receives(transfer, requests.data());
    }
    MPI_Waitall(transfer.window, requests.data(), MPI_STATUSES_IGNORE);
    answer(transfer, transfer.pair.lower);
  }
}

void stream_both_ways(const Transfer& transfer) {
  const auto window = static_cast<std::size_t>(transfer.window);
  std::vector<MPI_Request> requests(2 * window);
  for (int i = 0; i < transfer.iterations; ++i) {
    post_receives(transfer, requests.data());
    post_sends(transfer, requests.data() + window);
    MPI_Waitall(2 * transfer.window, requests.data(), MPI_STATUSES_IGNORE);
    answer(transfer, transfer.pair.lower);
  }
}

}  // namespace bench
