// startup: time of MPI_Init and of a first message to every rank, in microseconds, on the slowest rank, once per run;
// with
// --collectives, that of the first two alltoalls, and the memory of a rank afterwards. `headrace bench`, which starts
// the job, times the whole job, from the launcher's start to its end.
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

using Figures = std::vector<std::pair<const char*, double>>;

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

template <typename Function>
double duration_us(Function&& function) {
  const double before = now_us();
  function();
  return now_us() - before;
}

void send_to_all(const bench::World& world) {
  for (int distance = 1; distance < world.size; ++distance) {
    const int to = (world.rank + distance) % world.size, from = (world.rank - distance + world.size) % world.size;
    char mine = 0, other = 0;
    MPI_Sendrecv(&mine, 1, MPI_CHAR, to, 1, &other, 1, MPI_CHAR, from, 1, world.comm, MPI_STATUS_IGNORE);
  }
}

// Returns this process's share of the memory that it has mapped, in kB; 0 if the kernel does not tell.
double memory_kb() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    if (double kb = 0; word == "Pss:" && file >> kb) return kb;
  }
  return 0;
}

void add_collectives(const bench::World& world, Figures& figures) {
  std::vector<double> mine(static_cast<std::size_t>(world.size)), others = mine;
  const auto alltoall = [&] { MPI_Alltoall(mine.data(), 1, MPI_DOUBLE, others.data(), 1, MPI_DOUBLE, world.comm); };
  figures.emplace_back("first alltoall", duration_us(alltoall));
  figures.emplace_back("second alltoall", duration_us(alltoall));
  figures.emplace_back("memory in kB", memory_kb());
}

}  // namespace

int main(int argc, char** argv) {
  const double start = now_us();
  MPI_Init(&argc, &argv);
  const double initialized = now_us();
  bench::Options options;
  bool collectives = false;
  bench::OptionTable table = bench::common_options(options);
  table.add("--collectives", "", "two alltoalls of 8 B in place of the messages, and a rank's memory afterwards",
            [&](const std::string&) { return collectives = true; });
  const bench::Program program{
      .name = "startup", .sentence = "The time of MPI_Init and of a first message to every rank.", .host_alone = true};
  return bench::run_program(argc, argv, program, table, options, [&](const bench::World& world) {
    Figures figures = {{"MPI_Init", initialized - start}};
    if (collectives) {
      add_collectives(world, figures);
    } else {
      figures.emplace_back("first messages", duration_us([&] { send_to_all(world); }));
    }
    bench::Report report = bench::make_report(program, world, options);
    report.unit = "us";
    const bool prints = bench::prints_table(world, options);
    if (prints) bench::print_heading(report);
    for (const auto& [label, mine] : figures) {
      const std::vector<double> slowest = bench::combine(world, {mine}, world.size, bench::Combine::kMax);
      if (world.rank == 0) bench::add_row(report, {label, 0, 1, bench::summarise(slowest, true), {}}, prints);
    }
    return bench::finish(program, world, options, report);
  });
}
