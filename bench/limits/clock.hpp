// Times short pieces of work with the host's clock, without MPI.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "common/statistics.hpp"

namespace bench {

inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Effort {
  int least = 20, most = 1000;  // limits of the number of samples
  double microseconds = 60e3;   // approximate time for one figure, within the limits above
};

// Calls `once`, which does the work and returns its microseconds, three times to warm up, and then for the samples.
template <class Once>
Statistics sample(const Effort& effort, Once once) {
  for (int i = 0; i < 3; ++i) once();
  std::vector<double> samples;
  const double start = now_us();
  while (static_cast<int>(samples.size()) < effort.least ||
         (static_cast<int>(samples.size()) < effort.most && now_us() - start < effort.microseconds)) {
    samples.push_back(once());
  }
  return summarise(std::move(samples), true);
}

}  // namespace bench
