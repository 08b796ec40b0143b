#include "common/measure.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "common/distance.hpp"

namespace bench {
namespace {

// Seconds of a repetition: few, because the quiet moments of a shared machine are short.
constexpr double kRepetition = 0.010;
constexpr int kLeastRepetitions = 5;
// Number of trial runs before measuring; the fastest one counts. The first run warms up. There are several, as a moment
// of load must not lead to repetitions of one iteration. Long operations have two trial runs.
constexpr int kTries = 10;
constexpr double kTriesSeconds = 0.1;
constexpr double kPatience = 30;

std::vector<double> measure_apart(const World& world, const Plan& plan, const Repeat& repeat) {
  Distance distance(world);
  std::vector<double> seconds;
  double nearest = std::numeric_limits<double>::infinity(), farthest = 0;
  const auto fits = [&] {
    const double now = distance.now();
    nearest = std::min(nearest, now);
    farthest = std::max(farthest, now);
    return plan.cores_apart.contains(now);
  };
  const double end = MPI_Wtime() + kPatience;
  int more = 1;
  while (more != 0) {
    if (fits()) {
      barrier(world);
      const double taken = repeat(plan.iterations);
      if (fits()) seconds.push_back(taken);
    }
    const bool enough = seconds.size() == static_cast<std::size_t>(plan.repetitions) || MPI_Wtime() > end;
    more = from_root(world, enough ? 0 : 1);
  }
  if (seconds.empty()) {
    if (world.rank == 0) {
      std::fprintf(stderr,
                   "--cores-apart %.0f-%.0f: for %.0f s the cores of the two ranks were never so far apart during a "
                   "repetition; a cache line took %.0f to %.0f ns\n",
                   plan.cores_apart.least, plan.cores_apart.most, kPatience, nearest, farthest);
    }
    MPI_Abort(world.comm, 3);
  }
  return seconds;
}

}  // namespace

Plan agree_on_plan(const World& world, const Options& options, const Repeat& repeat) {
  double seconds = std::numeric_limits<double>::infinity();
  double passed = 0;
  for (int round = 1, iterations = 1; iterations != 0; ++round) {
    barrier(world);
    const double taken = repeat(iterations);
    passed += taken;
    seconds = std::clamp(taken / iterations, 1e-9, seconds);
    // If the user has chosen the number of iterations, the number of trial messages does not depend on time: there
    // are always two trial runs of one iteration.
    const bool chosen = options.iterations > 0;
    const bool enough = chosen ? round == 2 : round == kTries || (round >= 2 && passed > kTriesSeconds);
    iterations = from_root(world, enough ? 0 : !chosen && seconds < kRepetition / 10 ? 16 : 1);
  }
  Plan plan{};
  plan.iterations =
      options.iterations > 0 ? options.iterations : static_cast<int>(std::clamp(kRepetition / seconds, 1.0, 20000.0));
  plan.iterations = from_root(world, plan.iterations);
  plan.warmup = options.warmup > 0 ? options.warmup : std::max(1, plan.iterations / 10);
  const double affordable = options.seconds / (seconds * plan.iterations);
  plan.repetitions =
      static_cast<int>(std::min<double>(options.repetitions, std::max<double>(affordable, kLeastRepetitions)));
  plan.repetitions = from_root(world, plan.repetitions);
  plan.cores_apart = options.cores_apart;
  return plan;
}

std::vector<double> measure(const World& world, const Plan& plan, const Repeat& repeat) {
  barrier(world);
  repeat(plan.warmup);
  if (plan.cores_apart) return measure_apart(world, plan, repeat);
  std::vector<double> seconds;
  for (int r = 0; r < plan.repetitions; ++r) {
    barrier(world);
    seconds.push_back(repeat(plan.iterations));
  }
  return seconds;
}

}  // namespace bench
