#include "common/measure.hpp"

#include <algorithm>

namespace bench {
namespace {

// Short repetitions, because the quiet moments of a shared machine are short.
constexpr double kRepetition = 0.010;
constexpr int kLeastRepetitions = 5;

}  // namespace

Plan agree_on_plan(const World& world, const Options& options, const Repeat& repeat) {
  double seconds = 0;
  for (int tries = 1, round = 0; round < 2; ++round) {  // the first one warms up
    barrier(world);
    seconds = std::max(repeat(tries) / tries, 1e-9);
    tries = from_root(world, seconds < kRepetition / 10 ? 16 : 1);
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
  return plan;
}

std::vector<double> measure(const World& world, const Plan& plan, const Repeat& repeat) {
  barrier(world);
  repeat(plan.warmup);
  std::vector<double> seconds;
  for (int r = 0; r < plan.repetitions; ++r) {
    barrier(world);
    seconds.push_back(repeat(plan.iterations));
  }
  return seconds;
}

}  // namespace bench
