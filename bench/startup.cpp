// startup: time of MPI_Init and of a first message to every rank, in microseconds, on the slowest rank, once per run.
// `headrace bench`, which starts the job, times the whole job, from the launcher's start to its end.
#include <ctime>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

}  // namespace

int main(int argc, char** argv) {
  const double start = now_us();
  MPI_Init(&argc, &argv);
  const double initialized = now_us();
  bench::Options options;
  const bench::Program program{"startup", "The time of MPI_Init and of a first message to every rank.", "N"};
  return bench::run_program(
      argc, argv, program, bench::common_options(options), options, [&](const bench::World& world) {
        const double before = now_us();
        for (int distance = 1; distance < world.size; ++distance) {
          const int to = (world.rank + distance) % world.size, from = (world.rank - distance + world.size) % world.size;
          char mine = 0, other = 0;
          MPI_Sendrecv(&mine, 1, MPI_CHAR, to, 1, &other, 1, MPI_CHAR, from, 1, world.comm, MPI_STATUS_IGNORE);
        }
        const double connected = now_us() - before;
        bench::Report report = bench::make_report(program, world, options);
        report.unit = "us";
        const bool table = bench::prints_table(world, options);
        if (table) bench::print_heading(report);
        const std::pair<const char*, double> figures[] = {{"MPI_Init", initialized - start},
                                                          {"first messages", connected}};
        for (const auto& [label, mine] : figures) {
          const std::vector<double> slowest = bench::combine(world, {mine}, world.size, bench::Combine::kMax);
          if (world.rank == 0) bench::add_row(report, {label, 0, 1, bench::summarise(slowest, true), {}}, table);
        }
        return bench::finish(program, world, options, report);
      });
}
