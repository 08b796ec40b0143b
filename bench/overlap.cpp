// overlap: share of a non-blocking operation's time that computation hides, in percent.
//
// The operation alone takes t. With a computation of length t between its start and its completion, it takes T. The
// hidden share is the part of t by which T is shorter than the sum of both: 100 % if T is the computation's time, 0 %
// if T is the sum. With --computation, the computation has the same length for every size and library. This shows which
// operations a longer computation hides, and a library whose operation alone is fast does not get a shorter
// computation. Rows "..., tested" call MPI_Testall occasionally while they compute. The computation touches no memory.
// In the rows isend and irecv, one side computes while the other waits for the message immediately.
#include <algorithm>
#include <cmath>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

using bench::Options;
using bench::World;

// Arithmetic that the compiler cannot optimize away; calibrated once.
class Computation {
 public:
  Computation() {
    constexpr long kSteps = 2'000'000;
    run(kSteps);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double start = MPI_Wtime();
      run(kSteps);
      best = std::min(best, MPI_Wtime() - start);
    }
    steps_a_second_ = static_cast<double>(kSteps) / best;
  }
  long steps(double seconds) const { return std::max(1L, std::lround(seconds * steps_a_second_)); }
  static void run(long steps) {
    static volatile double sink;
    double value = 1;
    for (long i = 0; i < steps; ++i) value = value * 1.0000001 + 1e-9;
    sink = value;
    (void)sink;
  }

 private:
  double steps_a_second_ = 1;
};

struct Buffers {
  void* send;
  void* receive;
  std::size_t bytes;
};

struct Operation {
  const char* name;
  bool lower_computes, upper_computes;
  void (*start)(const World& world, const Buffers& buffers, MPI_Request* requests);  // starts kRequests requests
};
constexpr int kRequests = 2;

void one_way(const World& world, const Buffers& b, MPI_Request* requests) {
  const auto bytes = static_cast<int>(b.bytes);
  if (world.lower()) {
    MPI_Isend(b.send, bytes, MPI_BYTE, world.peer(), 1, world.comm, &requests[0]);
  } else {
    MPI_Irecv(b.receive, bytes, MPI_BYTE, world.peer(), 1, world.comm, &requests[0]);
  }
  requests[1] = MPI_REQUEST_NULL;
}

const Operation kOperations[] = {
    {"isend", true, false, one_way},
    {"irecv", false, true, one_way},
    {"isend-irecv", true, true,
     [](const World& world, const Buffers& b, MPI_Request* requests) {
       MPI_Irecv(b.receive, static_cast<int>(b.bytes), MPI_BYTE, world.peer(), 1, world.comm, &requests[0]);
       MPI_Isend(b.send, static_cast<int>(b.bytes), MPI_BYTE, world.peer(), 1, world.comm, &requests[1]);
     }},
    {"iallreduce", true, true,
     [](const World& world, const Buffers& b, MPI_Request* requests) {
       MPI_Iallreduce(b.send, b.receive, static_cast<int>(b.bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, world.comm,
                      &requests[0]);
       requests[1] = MPI_REQUEST_NULL;
     }},
    {"ialltoall", true, true,
     [](const World& world, const Buffers& b, MPI_Request* requests) {
       const auto block = static_cast<int>(b.bytes / static_cast<std::size_t>(world.size));
       MPI_Ialltoall(b.send, block, MPI_BYTE, b.receive, block, MPI_BYTE, world.comm, &requests[0]);
       requests[1] = MPI_REQUEST_NULL;
     }},
};

// Repeats `iterations` times: starts the operation, computes in `pieces` with a test after each but the last, and
// completes it. Returns the seconds on a computing rank, 0 on others.
double repeat(const World& world, const Operation& operation, const Buffers& buffers, int iterations, long steps,
              int pieces) {
  MPI_Request requests[kRequests];
  const bool computes = world.lower() ? operation.lower_computes : operation.upper_computes;
  double seconds = 0;
  for (int i = 0; i < iterations; ++i) {
    bench::barrier(world);
    const double start = MPI_Wtime();
    operation.start(world, buffers, requests);
    for (int piece = 0; computes && piece < pieces; ++piece) {
      if (steps > 0) Computation::run(steps / pieces);
      int done = 0;
      if (piece + 1 < pieces) MPI_Testall(kRequests, requests, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
    seconds += MPI_Wtime() - start;
  }
  return computes ? seconds : 0;
}

// Returns one sample per repetition, on every rank: the mean seconds of one iteration on the slowest rank.
std::vector<double> samples_of(const World& world, const bench::Plan& plan, const bench::Repeat& work) {
  std::vector<double> samples = bench::measure(world, plan, work);
  for (double& sample : samples) sample /= plan.iterations;
  MPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()), MPI_DOUBLE, MPI_MAX, world.comm);
  return samples;
}

int run_all(const bench::Program& program, const World& world, const Options& options, int pieces, int computation_us) {
  const bench::MemoryKind kind = bench::memory_of(program, world, options);
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "% hidden";
  report.less_is_better = false;
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  const Computation computation;
  for (const Operation& operation : kOperations) {
    for (const std::size_t bytes : options.sizes) {
      bench::Buffer send, receive;
      bench::allocate(program, world, kind, bytes, send);
      bench::allocate(program, world, kind, bytes, receive);
      const Buffers buffers{send.data(), receive.data(), bytes};
      const auto with = [&](long steps, int parts) -> bench::Repeat {
        return
            [&, steps, parts](int iterations) { return repeat(world, operation, buffers, iterations, steps, parts); };
      };
      const bench::Plan plan =
          bench::agree_on_plan(world, options, bench::whole_time([&](int iterations) { with(0, 1)(iterations); }));
      const double alone = bench::summarise(samples_of(world, plan, with(0, 1)), true).median;
      const long steps = computation.steps(computation_us > 0 ? computation_us * 1e-6 : alone);
      const bench::Repeat compute = [&](int iterations) {
        const double start = MPI_Wtime();
        for (int i = 0; i < iterations; ++i) Computation::run(steps);
        return MPI_Wtime() - start;
      };
      const double computed = bench::summarise(samples_of(world, plan, compute), true).median;
      for (const bool tested : {false, true}) {
        std::vector<double> samples = samples_of(world, plan, with(steps, tested ? pieces : 1));
        const double total = bench::summarise(samples, true).median;
        for (double& sample : samples) sample = 100 * std::clamp(1 - (sample - computed) / alone, 0.0, 1.0);
        if (world.rank != 0) continue;
        bench::add_row(report,
                       {std::string(operation.name) + (tested ? ", tested" : ""),
                        bytes,
                        plan.iterations,
                        bench::summarise(samples, false),
                        {{"alone us", alone * 1e6}, {"total us", total * 1e6}}},
                       table);
      }
    }
  }
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.min = 16;
  options.max = std::size_t{1} << 20;
  options.factor = 16;
  int pieces = 20;
  int computation_us = 0;
  bench::OptionTable table = bench::common_options(options);
  table.add("--pieces", "N", "of the computation, with a test between two, in the tested rows (20)",
            [&](const std::string& v) { return bench::parse_positive(v, pieces); });
  table.add("--computation", "US", "microseconds that are computed (as long as the operation takes alone)",
            [&](const std::string& v) { return bench::parse_positive(v, computation_us); });
  const bench::Program program{"overlap", "How much of a non-blocking operation's time computation hides.", "2", true};
  return bench::run_program(argc, argv, program, table, options, [&](const World& world) {
    return run_all(program, world, options, pieces, computation_us);
  });
}
