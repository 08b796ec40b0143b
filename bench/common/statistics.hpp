// Order statistics over the repetitions of one measurement.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

struct Statistics {
  double best, median, p90, p99, worst;  // p90: 90 % of the samples are not worse
  std::size_t samples;
};

// `samples` must not be empty. `less_is_better`: true for latencies, false for rates.
Statistics summarise(std::vector<double> samples, bool less_is_better);

}  // namespace bench
