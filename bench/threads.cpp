// threads: several threads of a rank communicate at once (MPI_THREAD_MULTIPLE), each with its partner in the peer, on a
// separate communicator: one-way latency of blocking ping-pongs, in microseconds, the mean of the threads.
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "common/measure.hpp"
#include "common/pattern.hpp"
#include "common/program.hpp"

namespace {

using bench::Options;
using bench::World;

// One thread's half of a conversation.
struct Talk {
  MPI_Comm comm;
  int peer;
  bool leads;
  std::vector<unsigned char> send, receive;

  void ping_pong(int iterations) {
    const auto bytes = static_cast<int>(send.size());
    for (int i = 0; i < iterations; ++i) {
      if (leads) MPI_Send(send.data(), bytes, MPI_BYTE, peer, 1, comm);
      MPI_Recv(receive.data(), bytes, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
      if (!leads) MPI_Send(send.data(), bytes, MPI_BYTE, peer, 1, comm);
    }
  }
};

void all_at_once(std::vector<Talk>& talks, int iterations) {
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < talks.size(); ++t) {
    threads.emplace_back([&talks, t, iterations] { talks[t].ping_pong(iterations); });
  }
  talks[0].ping_pong(iterations);
  for (std::thread& thread : threads) thread.join();
}

// Identifies the data of thread `t` of `rank`, different from every other thread's.
int identity(const World& world, int rank, std::size_t t) { return rank + world.size * static_cast<int>(t); }

int run_all(const bench::Program& program, const World& world, const Options& options,
            const std::vector<std::size_t>& counts) {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (world.rank == 0) std::fprintf(stderr, "threads: the library gives no MPI_THREAD_MULTIPLE\n");
    return 3;
  }
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  std::vector<MPI_Comm> comms(*std::max_element(counts.begin(), counts.end()));
  for (MPI_Comm& comm : comms) MPI_Comm_dup(world.comm, &comm);
  for (const std::size_t count : counts) {
    for (const std::size_t bytes : options.sizes) {
      std::vector<Talk> talks;
      for (std::size_t t = 0; t < count; ++t) {
        talks.push_back({comms[t], world.peer(), world.lower(),
                         bench::message_of(identity(world, world.rank, t), bytes), std::vector<unsigned char>(bytes)});
      }
      const bench::Repeat repeat = bench::whole_time([&](int iterations) { all_at_once(talks, iterations); });
      const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
      std::vector<double> samples = bench::measure(world, plan, repeat);
      for (std::size_t t = 0; t < count && options.validate; ++t) {
        if (talks[t].receive == bench::message_of(identity(world, world.peer(), t), bytes)) continue;
        std::fprintf(stderr, "threads: rank %d: thread %zu received another's data\n", world.rank, t);
        MPI_Abort(world.comm, 4);
      }
      for (double& sample : samples) sample *= 1e6 / (2.0 * plan.iterations);
      samples = bench::combine(world, std::move(samples), world.pairs(), bench::Combine::kMean);
      if (world.rank != 0) continue;
      const bench::Statistics times = bench::summarise(samples, true);
      bench::add_row(report,
                     {std::to_string(count) + (count == 1 ? " thread" : " threads"),
                      bytes,
                      plan.iterations,
                      times,
                      {{"M/s in all", 2 * static_cast<double>(count) / (2 * times.median)}}},
                     table);
    }
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.sizes = {8, 4096};
  std::vector<std::size_t> counts{1, 2, 4};
  bench::OptionTable table = bench::common_options(options);
  table.add("--threads", "A,B,...", "threads of each rank (1,2,4)",
            [&](const std::string& v) { return bench::parse_size_list(v, counts); });
  const auto sensible = [&](std::string& message) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    if (*least < 1 || *most > 256) message = "--threads are from 1 to 256";
    return message.empty();
  };
  const bench::Program program{"threads", "Latency of several threads that talk at once.", "2", true, sensible, true};
  return bench::run_program(argc, argv, program, table, options,
                            [&](const World& world) { return run_all(program, world, options, counts); });
}
