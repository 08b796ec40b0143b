// host_gpu: time of a long copy between pinned memory of the host and a rank's GPU, in each direction, while all other
// ranks wait, and while all GPUs are busy.
//
//   0>1 alone, 0>1 together   to the GPU of rank 0 (the host is 0, the GPU of rank r is r + 1)
//   1>0 alone, 1>0 together   from it
//
// Used by headrace doctor --run, with one rank per GPU. The copies are the driver's (cuMemcpy); MPI only coordinates
// them.
#include <algorithm>
#include <map>
#include <sstream>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

constexpr int kCopies = 4;  // copies per sample
constexpr int kHost = 0;

// Samples of one rank, by label.
using Samples = std::map<std::string, std::vector<double>>;

struct Copies {
  const bench::World& world;
  bench::Buffer& host;
  bench::Buffer& device;

  [[nodiscard]] std::string label(bool to_device, const char* when) const {
    const int gpu = world.rank + 1;
    const int from = to_device ? kHost : gpu;
    const int to = to_device ? gpu : kHost;
    return std::to_string(from) + '>' + std::to_string(to) + ' ' + when;
  }

  // Returns the mean time of a copy in microseconds.
  [[nodiscard]] double time(bool to_device) const {
    const double begin = MPI_Wtime();
    for (int i = 0; i < kCopies; ++i) {
      if (to_device) {
        device.write(host.data(), host.size());
      } else {
        device.read(host.data(), host.size());
      }
    }
    return (MPI_Wtime() - begin) * 1e6 / kCopies;
  }

  void measure(const char* when, int samples, Samples* found) const {
    for (const bool to_device : {true, false}) {
      (void)time(to_device);
      for (int i = 0; i < samples; ++i) (*found)[label(to_device, when)].push_back(time(to_device));
    }
  }
};

Samples measure_all(const Copies& copies, int samples) {
  Samples found;
  for (int turn = 0; turn < copies.world.size; ++turn) {
    if (turn == copies.world.rank) copies.measure("alone", samples, &found);
    bench::barrier(copies.world);
  }
  copies.measure("together", samples, &found);
  bench::barrier(copies.world);
  return found;
}

std::string text_of(const Samples& found) {
  std::ostringstream text;
  for (const auto& [label, times] : found) {
    text << label << ' ' << times.size();
    for (const double time : times) text << ' ' << time;
    text << '\n';
  }
  return text.str();
}

void add_rows(const std::vector<std::string>& texts, std::size_t bytes, bench::Report* report, bool table) {
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    std::string pair, when;
    std::size_t count = 0;
    while (lines >> pair >> when >> count) {
      std::vector<double> times(count);
      for (double& time : times) lines >> time;
      bench::add_row(*report, {pair + ' ' + when, bytes, 1, bench::summarise(times, true), {}}, table);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.sizes = {std::size_t{16} << 20};
  options.repetitions = 5;
  options.memory[0] = options.memory[1] = bench::MemoryKind::kCuda;
  const bench::Program program{"host_gpu", "Copies between the host and each rank's GPU, alone and all at once.", "N"};
  return bench::run_program(
      argc, argv, program, bench::common_options(options), options, [&](const bench::World& world) {
        const std::size_t bytes = options.sizes.front();
        bench::Buffer host, device;
        const bench::MemoryKind kind = bench::memory_of(program, world, options);
        bench::allocate(program, world, kind, bytes, device);
        bench::allocate(program, world, bench::MemoryKind::kPinned, bytes, host);
        const std::vector<std::string> texts =
            bench::gather_text(world, text_of(measure_all({world, host, device}, options.repetitions)));
        bench::Report report = bench::make_report(program, world, options);
        report.unit = "us";
        const bool table = bench::prints_table(world, options);
        if (table) bench::print_heading(report);
        if (world.rank == 0) add_rows(texts, bytes, &report, table);
        return bench::finish(program, world, options, report);
      });
}
