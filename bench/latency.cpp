// latency: half the time of a blocking ping-pong, in microseconds.
#include "common/runner.hpp"

namespace {

constexpr std::size_t kLine = 64;

// What programs do and the usual ping-pong leaves out: where data is new, its cache lines are the sender's alone, and
// what came is looked at.
void write_lines(const bench::Transfer& t) {
  auto* const data = static_cast<volatile char*>(t.send);
  for (std::size_t at = 0; t.touch && at < t.bytes; at += kLine) data[at] = data[at];
}
void read_lines(const bench::Transfer& t) {
  const auto* const data = static_cast<const volatile char*>(t.receive);
  for (std::size_t at = 0; t.touch && at < t.bytes; at += kLine) static_cast<void>(data[at]);
}

void send(const bench::Transfer& t) {
  write_lines(t);
  MPI_Send(t.send, static_cast<int>(t.bytes), MPI_BYTE, t.pair.peer, 1, t.pair.comm);
}
void receive(const bench::Transfer& t) {
  MPI_Recv(t.receive, static_cast<int>(t.bytes), MPI_BYTE, t.pair.peer, 1, t.pair.comm, MPI_STATUS_IGNORE);
  read_lines(t);
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
                     .value = one_way_us});
}
