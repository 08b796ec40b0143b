// bibw: megabytes (10^6) per second for windows of messages that both ranks of a pair send at once, summed over both
// directions.
#include "common/stream.hpp"

namespace {
double megabytes(double seconds, std::size_t bytes, int iterations, int window) {
  return 2.0 * static_cast<double>(bytes) * iterations * window / seconds * 1e-6;
}
}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv,
                    {.name = "bibw",
                     .unit = "MB/s",
                     .sentence = "Windows of messages that both ranks of a pair send at once, both ways together.",
                     .less_is_better = false,
                     .streams = true,
                     .both_ways = true,
                     .repeat = bench::stream_both_ways,
                     .value = megabytes});
}
