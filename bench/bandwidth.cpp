// bandwidth: megabytes (10^6) per second for a window of messages from the lower to the upper rank of a pair.
#include "common/stream.hpp"

namespace {
double megabytes(double seconds, std::size_t bytes, int iterations, int window) {
  return static_cast<double>(bytes) * iterations * window / seconds * 1e-6;
}
}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv,
                    {.name = "bandwidth",
                     .unit = "MB/s",
                     .sentence = "A window of messages from the lower to the upper rank of a pair.",
                     .less_is_better = false,
                     .streams = true,
                     .both_ways = false,
                     .repeat = bench::stream_one_way,
                     .value = megabytes});
}
