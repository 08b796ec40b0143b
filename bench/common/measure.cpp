#include "common/measure.hpp"

#include <algorithm>
#include <limits>

namespace bench {
namespace {

// Short repetitions, because the quiet moments of a shared machine are short.
constexpr double kRepetition = 0.010;
constexpr int kLeastRepetitions = 5;
// Tries beforehand, of which the least counts: the first one warms up, and a machine that is busy for a moment must not
// make repetitions of one iteration. Of what takes long, two.
constexpr int kTries = 10;
constexpr double kTriesSeconds = 0.1;

}  // namespace

Plan agree_on_plan(const World& world, const Options& options, const Repeat& repeat) {
  double seconds = std::numeric_limits<double>::infinity();
  double passed = 0;
  for (int round = 1, iterations = 1; iterations != 0; ++round) {
    barrier(world);
    const double taken = repeat(iterations);
    passed += taken;
    seconds = std::clamp(taken / iterations, 1e-9, seconds);
    const bool enough = round == kTries || (round >= 2 && passed > kTriesSeconds);
    iterations = from_root(world, enough ? 0 : seconds < kRepetition / 10 ? 16 : 1);
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
