#include "common/runner.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/report.hpp"
#include "common/statistics.hpp"

namespace bench {
namespace {

constexpr int kFrameTag = 77;

struct World {
  int rank = 0, size = 0;
  MPI_Comm comm = MPI_COMM_WORLD;
  int pairs() const { return size / 2; }
  bool lower() const { return rank < pairs(); }
  int peer() const { return lower() ? rank + pairs() : rank - pairs(); }
};

// Dissemination over point-to-point messages, so that a library is measured before its collectives exist.
void barrier(const World& world) {
  for (int distance = 1; distance < world.size; distance *= 2) {
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, (world.rank + distance) % world.size, kFrameTag, nullptr, 0, MPI_BYTE,
                 (world.rank - distance + world.size) % world.size, kFrameTag, world.comm, MPI_STATUS_IGNORE);
  }
}

std::vector<std::string> gather_text(const World& world, const std::string& mine) {
  std::vector<std::string> all;
  if (world.rank != 0) {
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, 0, kFrameTag, world.comm);
    return all;
  }
  all.push_back(mine);
  for (int rank = 1; rank < world.size; ++rank) {
    char text[1024];
    MPI_Status status;
    int length = 0;
    MPI_Recv(text, sizeof text, MPI_CHAR, rank, kFrameTag, world.comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    all.emplace_back(text, static_cast<std::size_t>(length));
  }
  return all;
}

std::string allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last > cpu) text += '-' + std::to_string(last);
    cpu = last;
  }
  return text.substr(0, 1000);
}

int node_local_rank(const World& world) {
  MPI_Comm node;
  int rank = 0;
  MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

// What byte i of a buffer holds that `rank` sends.
unsigned char expected_byte(int rank, std::size_t i) {
  return static_cast<unsigned char>(i * 131 + (i >> 8) * 31 + static_cast<std::size_t>(rank) * 17 + 1);
}

// One pass with a slot a message; false when a byte is wrong. The receive buffer starts as the complement of
// what must come, so that a byte nobody wrote is wrong too.
bool check(const Benchmark& benchmark, const World& world, const Pair& pair, MemoryKind kind, std::size_t bytes,
           int window) {
  const int slots = benchmark.streams ? window : 1;
  const std::size_t total = bytes * static_cast<std::size_t>(slots);
  Buffer send, receive;
  if (!send.allocate(kind, total) || !receive.allocate(kind, total)) return false;
  std::vector<unsigned char> host(total);
  for (std::size_t i = 0; i < total; ++i) host[i] = expected_byte(world.rank, i);
  send.write(host.data(), total);
  for (std::size_t i = 0; i < total; ++i) host[i] = static_cast<unsigned char>(~expected_byte(pair.peer, i));
  receive.write(host.data(), total);
  benchmark.repeat({pair, send.data(), receive.data(), bytes, 2, slots, slots});
  if (pair.lower && !benchmark.both_ways) return true;  // it has received nothing
  receive.read(host.data(), total);
  for (std::size_t i = 0; i < total; ++i) {
    if (host[i] == expected_byte(pair.peer, i)) continue;
    std::fprintf(stderr, "%s: rank %d: wrong data from rank %d: byte %zu of %d messages of %zu bytes is %d, not %d\n",
                 benchmark.name, world.rank, pair.peer, i, slots, bytes, host[i], expected_byte(pair.peer, i));
    return false;
  }
  return true;
}

// Rank 0 tries how long one takes and tells the others.
int agree_on_iterations(const Benchmark& benchmark, const World& world, const Options& options, Transfer transfer) {
  int iterations = 0;
  for (transfer.iterations = 2; transfer.iterations <= 16; transfer.iterations *= 8) {  // the first time warms up
    barrier(world);
    const double start = MPI_Wtime();
    benchmark.repeat(transfer);
    iterations = iterations_for(options, (MPI_Wtime() - start) / transfer.iterations);
  }
  if (world.rank != 0) {
    MPI_Recv(&iterations, 1, MPI_INT, 0, kFrameTag, world.comm, MPI_STATUS_IGNORE);
    return iterations;
  }
  for (int rank = 1; rank < world.size; ++rank) MPI_Send(&iterations, 1, MPI_INT, rank, kFrameTag, world.comm);
  return iterations;
}

// The repetitions of one size on this rank; seconds each.
std::vector<double> measure(const Benchmark& benchmark, const World& world, const Transfer& transfer, int warmup,
                            int repetitions) {
  Transfer warm = transfer;
  warm.iterations = warmup;
  benchmark.repeat(warm);
  std::vector<double> seconds;
  for (int r = 0; r < repetitions; ++r) {
    barrier(world);
    const double start = MPI_Wtime();
    benchmark.repeat(transfer);
    seconds.push_back(MPI_Wtime() - start);
  }
  return seconds;
}

// On rank 0: the samples of all pairs, their mean where less is better, else their sum.
std::vector<double> combine(const World& world, std::vector<double> samples, bool mean) {
  const auto count = static_cast<int>(samples.size());
  if (world.rank != 0) {
    if (world.lower()) MPI_Send(samples.data(), count, MPI_DOUBLE, 0, kFrameTag, world.comm);
    return samples;
  }
  std::vector<double> other(samples.size());
  for (int rank = 1; rank < world.pairs(); ++rank) {
    MPI_Recv(other.data(), count, MPI_DOUBLE, rank, kFrameTag, world.comm, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += other[i];
  }
  if (mean) {
    for (double& sample : samples) sample /= world.pairs();
  }
  return samples;
}

int run_all(const Benchmark& benchmark, const World& world, const Options& options) {
  const Pair pair{world.peer(), world.lower(), world.comm};
  const MemoryKind kind = options.memory[pair.lower ? 0 : 1];
  std::string reason;
  if (kind != MemoryKind::kHost && !prepare_memory(kind, node_local_rank(world), reason)) {
    std::fprintf(stderr, "%s: rank %d: --mem %s: %s\n", benchmark.name, world.rank, memory_name(kind), reason.c_str());
    MPI_Abort(world.comm, 3);
  }
  Report report;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  report.library = std::string(library, static_cast<std::size_t>(length));
  report.library = report.library.substr(0, report.library.find('\n'));
  report.name = benchmark.name;
  report.unit = benchmark.unit;
  report.less_is_better = benchmark.less_is_better;
  report.ranks = world.size;
  report.window = benchmark.streams ? options.window : 0;
  report.memory[0] = memory_name(options.memory[0]);
  report.memory[1] = memory_name(options.memory[1]);
  report.validated = options.validate;
  report.cpus = gather_text(world, allowed_cpus());

  const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  Buffer send, receive;
  if (!send.allocate(kind, largest) || !receive.allocate(kind, largest)) {
    std::fprintf(stderr, "%s: rank %d: no memory for two %s buffers of %zu bytes\n", benchmark.name, world.rank,
                 memory_name(kind), largest);
    MPI_Abort(world.comm, 3);
  }
  const bool table = world.rank == 0 && options.json != "-";
  if (table) print_heading(report);
  for (const std::size_t bytes : options.sizes) {
    constexpr std::size_t kCheckedBytes = std::size_t{64} << 20;
    const int checked = bytes == 0 ? options.window
                                   : static_cast<int>(std::clamp<std::size_t>(
                                         kCheckedBytes / bytes, 1, static_cast<std::size_t>(options.window)));
    if (options.validate && !check(benchmark, world, pair, kind, bytes, checked)) MPI_Abort(world.comm, 4);
    Transfer transfer{pair, send.data(), receive.data(), bytes, 0, options.window, 1};
    transfer.iterations = agree_on_iterations(benchmark, world, options, transfer);
    const int iterations = transfer.iterations;
    const int warmup = options.warmup > 0 ? options.warmup : std::max(1, iterations / 10);
    std::vector<double> samples = measure(benchmark, world, transfer, warmup, options.repetitions);
    for (double& sample : samples) sample = benchmark.value(sample, bytes, iterations, options.window);
    samples = combine(world, std::move(samples), benchmark.less_is_better);
    if (world.rank != 0) continue;
    report.rows.push_back({bytes, iterations, summarise(samples, benchmark.less_is_better)});
    if (table) print_row(report.rows.back());
  }
  if (world.rank == 0 && !options.json.empty() && !write_json(report, options.json)) {
    std::fprintf(stderr, "%s: cannot write %s\n", benchmark.name, options.json.c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int run(int argc, char** argv, const Benchmark& benchmark) {
  MPI_Init(&argc, &argv);
  World world;
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.size);
  Options options;
  std::string message;
  const ParseResult parsed = parse(argc, argv, options, message);
  int status = 0;
  if (parsed == ParseResult::kHelp) {
    if (world.rank == 0) std::fputs(usage(benchmark.name).c_str(), stdout);
  } else if (parsed == ParseResult::kError || world.size % 2 != 0) {
    if (message.empty()) message = "runs on an even number of ranks, not " + std::to_string(world.size);
    if (world.rank == 0)
      std::fprintf(stderr, "%s: %s\n%s", benchmark.name, message.c_str(), usage(benchmark.name).c_str());
    status = 2;
  } else {
    status = run_all(benchmark, world, options);
  }
  MPI_Finalize();
  return status;
}

}  // namespace bench
