// spawn: time, in microseconds on the slowest rank, that all ranks together need to start four more processes of this
// program: for MPI_Comm_spawn alone, and until the end of MPI_Comm_disconnect. The new processes call
// MPI_Comm_disconnect after a barrier.
#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

constexpr int kStarted = 4;

// Performs the work of a spawned process.
int serve(MPI_Comm parents) {
  MPI_Barrier(parents);
  MPI_Comm_disconnect(&parents);
  return MPI_Finalize();
}

struct Times {
  std::vector<double> spawn, whole;
};

Times measure(const bench::World& world, const char* program, int repetitions) {
  Times times;
  for (int i = 0; i < repetitions + 1; ++i) {  // the first repetition is not counted
    MPI_Barrier(world.comm);
    MPI_Comm started = MPI_COMM_NULL;
    const double begin = MPI_Wtime();
    MPI_Comm_spawn(program, MPI_ARGV_NULL, kStarted, MPI_INFO_NULL, 0, world.comm, &started, MPI_ERRCODES_IGNORE);
    const double spawned = MPI_Wtime();
    MPI_Barrier(started);
    MPI_Comm_disconnect(&started);
    const double end = MPI_Wtime();
    if (i == 0) continue;
    times.spawn.push_back((spawned - begin) * 1e6);
    times.whole.push_back((end - begin) * 1e6);
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parents = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parents);
  if (parents != MPI_COMM_NULL) return serve(parents);
  bench::Options options;
  const bench::Program program{
      .name = "spawn", .sentence = "The time of MPI_Comm_spawn of four processes.", .host_alone = true};
  return bench::run_program(
      argc, argv, program, bench::common_options(options), options, [&](const bench::World& world) {
        const Times times = measure(world, argv[0], options.repetitions);
        bench::Report report = bench::make_report(program, world, options);
        report.unit = "us";
        const bool table = bench::prints_table(world, options);
        if (table) bench::print_heading(report);
        const std::pair<const char*, const std::vector<double>*> figures[] = {{"spawn of 4", &times.spawn},
                                                                              {"with disconnect", &times.whole}};
        for (const auto& [label, mine] : figures) {
          const std::vector<double> slowest = bench::combine(world, *mine, world.size, bench::Combine::kMax);
          if (world.rank == 0) bench::add_row(report, {label, 0, 1, bench::summarise(slowest, true), {}}, table);
        }
        return bench::finish(program, world, options, report);
      });
}
