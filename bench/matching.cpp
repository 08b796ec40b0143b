// matching: one-way latency of 8 bytes, in microseconds, to a rank with many other posted receives or unexpected
// messages. These have other tags and come first in the queues.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

using bench::Options;
using bench::World;

constexpr int kPingTag = 1, kMarkerTag = 2;
constexpr int kFirstOther = 1000;  // greater than the framework's own tag
constexpr int kBytes = 8;

struct Others {
  std::vector<MPI_Request> requests;
  std::vector<char> data;
};

void send_others(const World& world, int depth) {
  char data[kBytes];
  for (int i = 0; i < depth; ++i) {
    for (int b = 0; b < kBytes; ++b) data[b] = static_cast<char>(i * 7 + b);
    MPI_Send(data, kBytes, MPI_BYTE, world.peer(), kFirstOther + i, world.comm);
  }
}

bool right(const char* data, int i) {
  for (int b = 0; b < kBytes; ++b) {
    if (data[b] != static_cast<char>(i * 7 + b)) return false;
  }
  return true;
}

void marker(const World& world) {
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, world.peer(), kMarkerTag, nullptr, 0, MPI_BYTE, world.peer(), kMarkerTag,
               world.comm, MPI_STATUS_IGNORE);
}

// Posts the other receives, or sends the other messages, on both ranks of a pair: the figure describes the upper rank,
// but a ping-pong has two directions.
void begin(const World& world, bool posted, int depth, Others& others) {
  others.data.assign(static_cast<std::size_t>(depth) * kBytes, 0);
  others.requests.assign(static_cast<std::size_t>(depth), MPI_REQUEST_NULL);
  if (posted) {
    for (int i = 0; i < depth; ++i) {
      MPI_Irecv(&others.data[static_cast<std::size_t>(i) * kBytes], kBytes, MPI_BYTE, world.peer(), kFirstOther + i,
                world.comm, &others.requests[static_cast<std::size_t>(i)]);
    }
  } else {
    // One side at a time: a rank that waits for the marker also receives everything sent before it.
    if (world.lower()) send_others(world, depth);
    marker(world);
    if (!world.lower()) send_others(world, depth);
  }
  marker(world);
}

// Returns false if one of the other messages did not arrive as sent.
bool end(const World& world, bool posted, int depth, Others& others) {
  if (posted) {
    if (world.lower()) send_others(world, depth);
    if (!world.lower()) MPI_Waitall(depth, others.requests.data(), MPI_STATUSES_IGNORE);
    if (!world.lower()) send_others(world, depth);
    if (world.lower()) MPI_Waitall(depth, others.requests.data(), MPI_STATUSES_IGNORE);
  } else {
    for (int i = 0; i < depth; ++i) {  // in order, so that even the slowest library finishes
      MPI_Recv(&others.data[static_cast<std::size_t>(i) * kBytes], kBytes, MPI_BYTE, world.peer(), kFirstOther + i,
               world.comm, MPI_STATUS_IGNORE);
    }
  }
  for (int i = 0; i < depth; ++i) {
    if (!right(&others.data[static_cast<std::size_t>(i) * kBytes], i)) return false;
  }
  return true;
}

void ping_pong(const World& world, int iterations) {
  char data[kBytes] = {};
  for (int i = 0; i < iterations; ++i) {
    if (world.lower()) MPI_Send(data, kBytes, MPI_BYTE, world.peer(), kPingTag, world.comm);
    MPI_Recv(data, kBytes, MPI_BYTE, world.peer(), kPingTag, world.comm, MPI_STATUS_IGNORE);
    if (!world.lower()) MPI_Send(data, kBytes, MPI_BYTE, world.peer(), kPingTag, world.comm);
  }
}

int run_all(const bench::Program& program, const World& world, const Options& options,
            const std::vector<std::size_t>& depths) {
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  for (const bool posted : {true, false}) {
    for (const std::size_t depth : depths) {
      Others others;
      begin(world, posted, static_cast<int>(depth), others);
      const bench::Repeat repeat = bench::whole_time([&](int iterations) { ping_pong(world, iterations); });
      const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
      std::vector<double> samples = bench::measure(world, plan, repeat);
      const double start = MPI_Wtime();
      const bool good = end(world, posted, static_cast<int>(depth), others);
      const double drained = MPI_Wtime() - start;
      if (!good) {
        std::fprintf(stderr, "matching: rank %d: one of %zu messages has another's data\n", world.rank, depth);
        MPI_Abort(world.comm, 4);
      }
      for (double& sample : samples) sample *= 1e6 / (2.0 * plan.iterations);
      samples = bench::combine(world, std::move(samples), world.pairs(), bench::Combine::kMean);
      if (world.rank != 0) continue;
      bench::add_row(report,
                     {(posted ? "posted " : "unexpected ") + std::to_string(depth),
                      kBytes,
                      plan.iterations,
                      bench::summarise(samples, true),
                      {{"drain us each", depth == 0 ? 0 : drained * 1e6 / static_cast<double>(depth)}}},
                     table);
    }
  }
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::size_t> depths{0, 10, 1000, 100000};
  bench::OptionTable table = bench::common_options(options);
  table.add("--depths", "A,B,...", "other receives or messages (0,10,1000,100000)",
            [&](const std::string& v) { return bench::parse_size_list(v, depths); });
  const auto sensible = [&](std::string& message) {
    if (*std::max_element(depths.begin(), depths.end()) > 1000000) message = "--depths are at most 1000000";
    return message.empty();
  };
  const bench::Program program{.name = "matching",
                               .sentence = "Latency beside many posted receives or unexpected messages.",
                               .ranks = "2",
                               .even_ranks = true,
                               .check = sensible,
                               .host_alone = true};
  return bench::run_program(argc, argv, program, table, options,
                            [&](const World& world) { return run_all(program, world, options, depths); });
}
