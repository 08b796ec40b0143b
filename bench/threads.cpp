// threads: several threads of a rank communicate at once (MPI_THREAD_MULTIPLE). Each thread has its partner in the
// peer. The pairs use separate communicators, or separate tags on one communicator. The figure is the one-way latency
// of blocking ping-pongs in microseconds, the mean over the threads. With --rate, it is the number of messages per
// second of all threads together.
#include "common/threads.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "common/measure.hpp"
#include "common/pattern.hpp"
#include "common/program.hpp"

namespace {

using bench::Options;
using bench::World;

struct Choices {
  std::vector<std::size_t> counts{1, 2, 4};
  bool rate = false;
  bool one_communicator = false;
  bool no_any_tag = false;
  bool bind = false;
};

// One thread's half of a conversation.
struct Talk {
  MPI_Comm comm;
  int peer;
  int tag;
  bool leads;
  int window;
  bench::Buffer send{}, receive{};

  Talk(MPI_Comm on, const World& world, std::size_t t, int messages)
      : comm(on), peer(world.peer()), tag(1 + static_cast<int>(t)), leads(world.lower()), window(messages) {}

  void ping_pong(int iterations) {
    const auto bytes = static_cast<int>(send.size());
    for (int i = 0; i < iterations; ++i) {
      if (leads) MPI_Send(send.data(), bytes, MPI_BYTE, peer, tag, comm);
      MPI_Recv(receive.data(), bytes, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE);
      if (!leads) MPI_Send(send.data(), bytes, MPI_BYTE, peer, tag, comm);
    }
  }

  // Sends windows of messages to the leader's peer, each answered with an empty message.
  void stream(int iterations) {
    const auto bytes = static_cast<int>(send.size());
    std::vector<MPI_Request> requests(static_cast<std::size_t>(window));
    for (int i = 0; i < iterations; ++i) {
      for (MPI_Request& each : requests) {
        if (leads) MPI_Isend(send.data(), bytes, MPI_BYTE, peer, tag, comm, &each);
        if (!leads) MPI_Irecv(receive.data(), bytes, MPI_BYTE, peer, tag, comm, &each);
      }
      MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
      if (leads) MPI_Recv(nullptr, 0, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE);
      if (!leads) MPI_Send(nullptr, 0, MPI_BYTE, peer, tag, comm);
    }
  }
};

// Returns a number that identifies the data of thread `t` of `rank`, and differs from every other thread's.
int identity(const World& world, int rank, std::size_t t) { return rank + world.size * static_cast<int>(t); }

int run_all(const bench::Program& program, const World& world, const Options& options, const Choices& choices) {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (world.rank == 0) std::fprintf(stderr, "threads: the library gives no MPI_THREAD_MULTIPLE\n");
    return 3;
  }
  bench::Report report = bench::make_report(program, world, options);
  const std::vector<std::size_t>& counts = choices.counts;
  report.unit = choices.rate ? "M/s" : "us";
  report.less_is_better = !choices.rate;
  if (choices.rate) report.window = options.window;
  const bench::MemoryKind kind = bench::memory_of(program, world, options);
  const bench::Threads threads(world, choices.bind);
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  std::vector<MPI_Comm> comms(*std::max_element(counts.begin(), counts.end()));
  MPI_Info hints;
  MPI_Info_create(&hints);
  if (choices.no_any_tag) MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
  for (MPI_Comm& comm : comms) MPI_Comm_dup_with_info(world.comm, hints, &comm);
  MPI_Info_free(&hints);
  for (const std::size_t count : counts) {
    for (const std::size_t bytes : options.sizes) {
      std::deque<Talk> talks;
      for (std::size_t t = 0; t < count; ++t) {
        Talk& talk = talks.emplace_back(choices.one_communicator ? comms[0] : comms[t], world, t, options.window);
        bench::allocate(program, world, kind, bytes, talk.send);
        bench::allocate(program, world, kind, bytes, talk.receive);
        talk.send.write(bench::message_of(identity(world, world.rank, t), bytes).data(), bytes);
      }
      const auto work = choices.rate ? &Talk::stream : &Talk::ping_pong;
      const bench::Repeat repeat = bench::whole_time(
          [&](int iterations) { threads.run(count, [&](std::size_t t) { (talks[t].*work)(iterations); }); });
      const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
      std::vector<double> samples = bench::measure(world, plan, repeat);
      for (std::size_t t = 0; t < count && options.validate; ++t) {
        if (choices.rate && world.lower()) continue;
        const std::vector<unsigned char> expected = bench::message_of(identity(world, world.peer(), t), bytes);
        std::vector<unsigned char> found(bytes);
        talks[t].receive.read(found.data(), bytes);
        if (found == expected) continue;
        std::fprintf(stderr, "threads: rank %d: thread %zu received another's data\n", world.rank, t);
        MPI_Abort(world.comm, 4);
      }
      const double messages = static_cast<double>(count) * plan.iterations;  // one way
      for (double& sample : samples)
        sample = choices.rate ? messages * options.window / sample * 1e-6 : sample * 1e6 / (2.0 * plan.iterations);
      samples = bench::combine(world, std::move(samples), world.pairs(),
                               choices.rate ? bench::Combine::kSum : bench::Combine::kMean);
      if (world.rank != 0) continue;
      const bench::Statistics found = bench::summarise(samples, !choices.rate);
      std::vector<std::pair<std::string, double>> more;
      if (!choices.rate) more.push_back({"M/s in all", static_cast<double>(count) / found.median});
      bench::add_row(
          report, {std::to_string(count) + (count == 1 ? " thread" : " threads"), bytes, plan.iterations, found, more},
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
  Choices choices;
  bench::OptionTable table = bench::common_options(options);
  const auto flag = [&table](const char* name, const char* help, bool& choice) {
    table.add(name, "", help, [&choice](const std::string&) { return choice = true; });
  };
  table.add("--threads", "A,B,...", "threads of each rank (1,2,4)",
            [&](const std::string& v) { return bench::parse_size_list(v, choices.counts); });
  flag("--rate", "messages a second in windows of 64, in place of latency", choices.rate);
  flag("--one-communicator", "all threads talk on one communicator, by tags", choices.one_communicator);
  flag("--no-any-tag", "set the hint mpi_assert_no_any_tag on the communicators", choices.no_any_tag);
  flag("--bind-threads", "bind each thread to a core of its own, if there are enough", choices.bind);
  const auto sensible = [&](std::string& message) {
    const auto [least, most] = std::minmax_element(choices.counts.begin(), choices.counts.end());
    if (*least < 1 || *most > 256) message = "--threads are from 1 to 256";
    return message.empty();
  };
  const bench::Program program{"threads", "Latency or rate of several threads that talk at once.", "2", true, sensible,
                               true};
  return bench::run_program(argc, argv, program, table, options,
                            [&](const World& world) { return run_all(program, world, options, choices); });
}
