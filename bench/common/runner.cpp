#include "common/runner.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/measure.hpp"
#include "common/pattern.hpp"
#include "common/program.hpp"

namespace bench {
namespace {

// Buffers of a transfer of `slots` messages: sent, received and expected data.
class CheckedBuffers {
 public:
  CheckedBuffers(const Benchmark& benchmark, const Program& program, const World& world, const Pair& pair,
                 const Options& options)
      : benchmark_(benchmark), program_(program), world_(world), pair_(pair), options_(options) {}

  void prepare(MemoryKind kind, std::size_t bytes, int slots) {
    bytes_ = bytes;
    slots_ = slots;
    const std::size_t total = bytes * static_cast<std::size_t>(slots);
    allocate(program_, world_, kind, total, send_);
    allocate(program_, world_, kind, total + kGuard, receive_);
    if (!options_.validate) return;
    send_.write(message_of(world_.rank, total).data(), total);
    expected_ = message_of(pair_.peer, total);
    receive_.write(poison_for(expected_).data(), total + kGuard);
  }

  Transfer transfer(int iterations, int window) const {
    return {pair_, send_.data(), receive_.data(), bytes_, iterations, window, options_.touch, slots_};
  }

  // Ends the job (code 4) if a byte is wrong.
  void verify() const {
    if (!options_.validate || (pair_.lower && !benchmark_.both_ways)) return;  // nothing received
    std::vector<unsigned char> found(expected_.size() + kGuard);
    receive_.read(found.data(), found.size());
    const std::size_t wrong = first_wrong(found, expected_);
    if (wrong == found.size()) return;
    std::fprintf(stderr, "%s: rank %d: wrong data from rank %d: byte %zu of %d messages of %zu bytes is %d, not %d\n",
                 benchmark_.name, world_.rank, pair_.peer, wrong, slots_, bytes_, found[wrong],
                 wrong < expected_.size() ? expected_[wrong] : kGuardByte);
    MPI_Abort(world_.comm, 4);
  }

 private:
  const Benchmark& benchmark_;
  const Program& program_;
  const World& world_;
  const Pair& pair_;
  const Options& options_;
  std::size_t bytes_ = 0;
  int slots_ = 1;
  Buffer send_, receive_;
  std::vector<unsigned char> expected_;
};

// Returns the number of messages of a window that fit into the memory for a check.
int checked_window(const Options& options, std::size_t bytes) {
  constexpr std::size_t kCheckedBytes = std::size_t{64} << 20;
  if (bytes == 0) return options.window;
  return static_cast<int>(std::clamp<std::size_t>(kCheckedBytes / bytes, 1, static_cast<std::size_t>(options.window)));
}

int run_sizes(const Benchmark& benchmark, const Program& program, const World& world, const Options& options) {
  const Pair pair{world.peer(), world.lower(), world.comm};
  const MemoryKind kind = memory_of(program, world, options);
  Report report = make_report(program, world, options);
  report.unit = benchmark.unit;
  report.less_is_better = benchmark.less_is_better;
  report.window = benchmark.streams ? options.window : 0;

  CheckedBuffers buffers(benchmark, program, world, pair, options);
  const bool table = prints_table(world, options);
  if (table) print_heading(report);
  for (const std::size_t bytes : options.sizes) {
    if (options.validate) {  // one exchange with a slot per message, because the timed exchanges write the same slot
                             // repeatedly
      const int window = benchmark.streams ? checked_window(options, bytes) : 1;
      buffers.prepare(kind, bytes, window);
      benchmark.repeat(buffers.transfer(1, window));
      buffers.verify();
    }
    buffers.prepare(kind, bytes, 1);
    const Repeat repeat =
        whole_time([&](int iterations) { benchmark.repeat(buffers.transfer(iterations, options.window)); });
    const Plan plan = agree_on_plan(world, options, repeat);
    std::vector<double> samples = measure(world, plan, repeat);
    buffers.verify();
    for (double& sample : samples) sample = benchmark.value(sample, bytes, plan.iterations, options.window);
    samples =
        combine(world, std::move(samples), world.pairs(), benchmark.less_is_better ? Combine::kMean : Combine::kSum);
    if (world.rank != 0) continue;
    add_row(report, {"", bytes, plan.iterations, summarise(samples, benchmark.less_is_better), {}}, table);
  }
  return finish(program, world, options, report);
}

}  // namespace

int run(int argc, char** argv, const Benchmark& benchmark) {
  Options options;
  const Program program{benchmark.name, benchmark.sentence, "2", true};
  OptionTable table = common_options(options);
  if (benchmark.touches) add_touch(table, options);
  return run_program(argc, argv, program, table, options,
                     [&](const World& world) { return run_sizes(benchmark, program, world, options); });
}

}  // namespace bench
