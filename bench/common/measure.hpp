// The repetitions of a measurement: their number, and their times on this rank.
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

// Performs the measured work `iterations` times, and returns the seconds that count.
using Repeat = std::function<double(int iterations)>;

// Returns a Repeat that counts the whole time of `work`.
template <class Work>
Repeat whole_time(Work work) {
  return [work](int iterations) {
    const double start = MPI_Wtime();
    work(iterations);
    return MPI_Wtime() - start;
  };
}

// Times trial runs on all ranks, and returns the plan that rank 0 derives from their times.
Plan agree_on_plan(const World& world, const Options& options, const Repeat& repeat);
// Warms up, then repeats, with a barrier before each repetition. Returns the seconds of each repetition. With
// `cores_apart`, only repetitions at that distance count: as many as requested, or as occur within 30 s. If there are
// none, prints the observed distances and ends the job (code 3).
std::vector<double> measure(const World& world, const Plan& plan, const Repeat& repeat);

}  // namespace bench
