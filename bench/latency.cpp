// latency: half the time of a blocking ping-pong, in microseconds.
#include "common/runner.hpp"

namespace {

void ping_pong(const bench::Transfer& t) {
  const int count = static_cast<int>(t.bytes);
  for (int i = 0; i < t.iterations; ++i) {
    if (t.pair.lower) {
      MPI_Send(t.send, count, MPI_BYTE, t.pair.peer, 1, t.pair.comm);
      MPI_Recv(t.receive, count, MPI_BYTE, t.pair.peer, 1, t.pair.comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(t.receive, count, MPI_BYTE, t.pair.peer, 1, t.pair.comm, MPI_STATUS_IGNORE);
      MPI_Send(t.send, count, MPI_BYTE, t.pair.peer, 1, t.pair.comm);
    }
  }
}

double one_way_us(double seconds, std::size_t, int iterations, int) { return seconds * 1e6 / (2.0 * iterations); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv,
                    {.name = "latency",
                     .unit = "us",
                     .sentence = "Half the time of a blocking ping-pong.",
                     .less_is_better = true,
                     .streams = false,
                     .both_ways = true,
                     .repeat = ping_pong,
                     .value = one_way_us});
}
