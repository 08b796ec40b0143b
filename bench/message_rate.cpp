// message_rate: million messages per second, over all pairs together.
#include "common/stream.hpp"

namespace {
double millions(double seconds, std::size_t, int iterations, int window) {
  return static_cast<double>(iterations) * window / seconds * 1e-6;
}
}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv,
                    {.name = "message_rate",
                     .unit = "M/s",
                     .sentence = "Messages a second of all pairs together.",
                     .less_is_better = false,
                     .streams = true,
                     .both_ways = false,
                     .repeat = bench::stream_one_way,
                     .value = millions});
}
