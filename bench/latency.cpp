// latency: half the time of a blocking ping-pong, in microseconds.
#include "common/runner.hpp"
#include "common/touch.hpp"

namespace {

void send(const bench::Transfer& t) {
  if (t.touch) bench::write_lines(t.send, t.bytes);
  MPI_Send(t.send, static_cast<int>(t.bytes), MPI_BYTE, t.pair.peer, 1, t.pair.comm);
}
void receive(const bench::Transfer& t) {
  MPI_Recv(t.receive, static_cast<int>(t.bytes), MPI_BYTE, t.pair.peer, 1, t.pair.comm, MPI_STATUS_IGNORE);
  if (t.touch) bench::read_lines(t.receive, t.bytes);
}

void ping_pong(const bench::Transfer& t) {
  for (int i = 0; i < t.iterations; ++i) {
    if (t.pair.lower) {
      send(t);
      receive(t);
    } else {
      receive(t);
      send(t);
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
                     .value = one_way_us,
                     .touches = true});
}
