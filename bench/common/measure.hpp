// Repetitions of one measurement: how many, and their times on this rank.
#pragma once

#include <functional>
#include <vector>

#include "common/options.hpp"
#include "common/world.hpp"

namespace bench {

struct Plan {
  int iterations, warmup, repetitions;
  CoreDistance cores_apart;
};

// Does what is measured `iterations` times; the seconds of it that count.
using Repeat = std::function<double(int iterations)>;

// A Repeat whose seconds are all that `work` takes.
template <class Work>
Repeat whole_time(Work work) {
  return [work](int iterations) {
    const double start = MPI_Wtime();
    work(iterations);
    return MPI_Wtime() - start;
  };
}

// Tries, on all ranks, how long one iteration takes; what rank 0 makes of it.
Plan agree_on_plan(const World& world, const Options& options, const Repeat& repeat);
// Warm-up, then a barrier before each repetition. Seconds of each. With `cores_apart`: of those only that fit, as many
// as wanted or as there are in 30 s; none: ends the job (code 3), and says how far apart the cores were.
std::vector<double> measure(const World& world, const Plan& plan, const Repeat& repeat);

}  // namespace bench
