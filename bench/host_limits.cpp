// host_limits: speed of two cores of this machine without MPI, with which latency and bandwidth are compared. Measures
// one-way times in microseconds: a cache line passed from core to core, and a message through shared memory (a copy
// into it, a flag, and a copy out of it). From 256 B on, the fastest of several methods counts, in pieces or with
// non-temporal stores (limits/ping_pong.hpp). Also measures one memcpy between two buffers of each size. With
// --ping-pong, also longer messages in both directions, through little and through much memory, an allgather with
// direct reads, and a broadcast. With --collectives, operations of several processes instead
// (limits/bare_collectives.hpp).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "common/memory.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "limits/bare_collectives.hpp"
#include "limits/clock.hpp"
#include "limits/cores.hpp"
#include "limits/ping_pong.hpp"

namespace {

// Largest message that is measured as an exchange; longer ones are faster with a single copy.
constexpr std::size_t kLargestExchange = 262144;
// Sizes of the memory that messages cycle through: as much as the nearest caches can hold, and more than that.
constexpr std::size_t kRoom = 524288, kMuchRoom = 2097152;
constexpr bench::Through kInPieces[] = {{3072, kRoom},      {2048, kMuchRoom}, {8192, kMuchRoom},
                                        {32768, kMuchRoom}, {3072, 0, true},   {16384, 0, true}};
constexpr std::size_t kShortestInPieces = 256;
constexpr std::size_t kLeastPipelined = 4096;
constexpr unsigned kRoundsOfDistance = 100;
constexpr double kPatience = 10e6;  // microseconds

// A flag followed directly by the data, so that short data shares the flag's cache line.
class Mailbox {
 public:
  explicit Mailbox(std::size_t bytes) : memory_(1 + (kFlag + bytes) / sizeof(Line)) {}
  void send(unsigned turn, const std::byte* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(data(), from, bytes);
    flag().store(turn, std::memory_order_release);
  }
  void receive(unsigned turn, std::byte* to, std::size_t bytes) {
    while (flag().load(std::memory_order_acquire) != turn) {
    }
    if (bytes != 0) std::memcpy(to, data(), bytes);
  }

 private:
  static constexpr std::size_t kFlag = 8;
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  std::byte* data() { return memory_.data()->bytes + kFlag; }
  std::atomic_ref<unsigned> flag() { return std::atomic_ref(*reinterpret_cast<unsigned*>(memory_.data())); }
  std::vector<Line> memory_;
};

// Returns the one-way time in microseconds, the mean over `rounds` round trips.
double exchange_us(std::size_t bytes, int other_core, unsigned rounds) {
  Mailbox there(bytes), back(bytes);
  std::thread partner([&] {
    bench::bind_to(other_core);
    std::vector<std::byte> own(bytes);
    for (unsigned i = 1; i <= rounds; ++i) {
      there.receive(i, own.data(), bytes);
      back.send(i, own.data(), bytes);
    }
  });
  std::vector<std::byte> own(bytes);
  // The first round waits for the thread to start.
  there.send(1, own.data(), bytes);
  back.receive(1, own.data(), bytes);
  const double start = bench::now_us();
  for (unsigned i = 2; i <= rounds; ++i) {
    there.send(i, own.data(), bytes);
    back.receive(i, own.data(), bytes);
  }
  const double passed = bench::now_us() - start;
  partner.join();
  return passed / (2.0 * (rounds - 1));
}

// Returns the time of the fastest method.
double long_exchange_us(std::size_t bytes, int other_core) {
  const auto rounds = static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{4} << 20) / bytes, 50, 500));
  double least = bench::nontemporal_us(bytes, {32768, kRoom}, other_core, rounds);
  for (const bench::Through& through : kInPieces)
    least = std::min(least, bench::in_pieces_us(bytes, through, other_core, rounds));
  return least;
}

bench::Statistics copy_us(std::size_t bytes, const bench::Effort& effort) {
  bench::Buffer from, to;
  if (!from.allocate(bench::MemoryKind::kHost, bytes) || !to.allocate(bench::MemoryKind::kHost, bytes)) return {};
  // Enough copies to make the time of reading the clock negligible.
  const int times = static_cast<int>(std::max<std::size_t>(1, 65536 / bytes));
  return bench::sample(effort, [&] {
    const double start = bench::now_us();
    for (int i = 0; i < times; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");  // keeps the copies from being optimized away
    }
    return (bench::now_us() - start) / times;
  });
}

// The options of a run, and its results.
struct Job {
  std::vector<std::size_t> sizes{8, 64, 1024, 2048, 8192, 32768, 262144, 1 << 20, 2 << 20, 4 << 20};
  int samples = 1000;
  bool ping_pong = false;
  std::vector<std::string> collectives;
  int processes = 2;
  std::string json;
  std::vector<int> cores = bench::allowed_cores();
  bench::CoreDistance cores_apart;
  bench::Report report{};

  // Samples `once` at most `samples` times, for about `microseconds`. Returns false if a sample failed.
  template <class Once>
  bool add(const char* label, std::size_t bytes, int least, double microseconds, Once once) {
    return add(label, bytes,
               bench::sample({std::min(samples, least), samples, microseconds}, [&] { return at_distance(once); }));
  }
  // Returns the result of the first call of `once` for which the two cores are at the requested distance before and
  // after the call; 0 if there is none within kPatience.
  template <class Once>
  double at_distance(Once once) const {
    if (!cores_apart) return once();
    const auto fits = [&] { return cores_apart.contains(1e3 * exchange_us(0, cores[1], kRoundsOfDistance)); };
    bench::bind_to(cores[0]);
    for (const double end = bench::now_us() + kPatience; bench::now_us() < end;) {
      if (!fits()) continue;
      const double found = once();
      if (found <= 0 || fits()) return found;
    }
    return 0;
  }
  bool add(const char* label, std::size_t bytes, const bench::Statistics& times) {
    if (times.best <= 0) return false;
    bench::Row row{label, bytes, 1, times, {{"MB/s", static_cast<double>(bytes) / times.median}}};
    if (json != "-") print_row(row, report.rows.empty());
    report.rows.push_back(std::move(row));
    return true;
  }
};

void measure_messages(Job& job) {
  constexpr unsigned kRounds = 2000;
  const int other = job.cores[1];
  bench::bind_to(job.cores[0]);
  job.add("cache line", 64, 5, 20e3, [&] { return exchange_us(0, other, kRounds); });
  for (const std::size_t bytes : job.sizes) {
    if (bytes == 0 || bytes > kLargestExchange) continue;
    job.add("exchange", bytes, 5, 20e3, [&] {
      return bytes < kShortestInPieces ? exchange_us(bytes, other, kRounds) : long_exchange_us(bytes, other);
    });
  }
  if (!job.ping_pong) return;
  for (const std::size_t bytes : job.sizes) {
    if (bytes == 0) continue;
    const auto rounds = static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{16} << 20) / bytes, 64, kRounds));
    const auto figure = [&](const char* label, auto once) { job.add(label, bytes, 15, 60e3, once); };
    const auto broadcast = [&](bench::Broadcast how) { return bench::broadcast_us(bytes, how, other, rounds); };
    figure("bcast, memory", [&] { return broadcast(bench::Broadcast::kThroughMemory); });
    if (bytes < kLeastPipelined) continue;
    figure("bcast, reading", [&] { return broadcast(bench::Broadcast::kByReading); });
    const auto pieces = [&](bench::Through through) { return bench::in_pieces_us(bytes, through, other, rounds); };
    figure("pieces, 32 KiB", [&] { return pieces({3072, 32768}); });
    figure("past caches", [&] { return bench::nontemporal_us(bytes, {32768, kRoom}, other, rounds); });
    figure("pieces, 512 KiB", [&] { return pieces({3072, kRoom}); });
    figure("pieces, 2 MiB", [&] { return pieces({2048, kMuchRoom}); });
    figure("of 8 KiB, 2 MiB", [&] { return pieces({8192, kMuchRoom}); });
    figure("of 32 KiB, 2 MiB", [&] { return pieces({32768, kMuchRoom}); });
    figure("both ways, 3 KiB", [&] { return pieces({3072, 0, true}); });
    figure("both ways, 16 KiB", [&] { return pieces({16384, 0, true}); });
    figure("read block", [&] { return bench::gather_by_reading_us(bytes, false, other, rounds); });
    figure("read, copy own", [&] { return bench::gather_by_reading_us(bytes, true, other, rounds); });
  }
}

void measure_copies(Job& job) {
  for (const std::size_t bytes : job.sizes) {
    if (bytes > 0) job.add("memcpy", bytes, copy_us(bytes, {std::min(job.samples, 20), job.samples, 50e3}));
  }
}

// Measures each algorithm of the chosen operations at each size that it supports; skips algorithms that the system
// refuses. Returns false, with a message, if received data is wrong.
bool measure_collectives(Job& job) {
  for (const bench::BareAlgorithm& way : bench::bare_algorithms()) {
    if (std::find(job.collectives.begin(), job.collectives.end(), way.operation) == job.collectives.end()) continue;
    for (const std::size_t asked : way.most == 0 ? std::vector<std::size_t>{0} : job.sizes) {
      const std::size_t bytes = bench::bare_collective_bytes(way, asked, job.processes);
      if (bytes < way.least || bytes > way.most) continue;
      const auto rounds = static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{8} << 20) / (bytes + 1), 20, 400));
      bool wrong = false;
      job.add(way.label, bytes, 5, 100e3, [&] {
        const double little = bench::bare_collective_us(way, bytes, job.processes, job.cores, 0, rounds);
        const double much = bench::bare_collective_us(way, bytes, job.processes, job.cores, kMuchRoom, rounds);
        const double found = std::min(little, much);
        wrong = wrong || found < 0;
        return found;
      });
      if (!wrong) continue;
      std::fprintf(stderr, "host_limits: %s of %zu bytes, %d processes: what was received is wrong\n", way.label, bytes,
                   job.processes);
      return false;
    }
  }
  return true;
}

bool parse_collectives(const std::string& text, std::vector<std::string>& collectives) {
  collectives = bench::split(text);
  return !collectives.empty() && std::all_of(collectives.begin(), collectives.end(), [](const std::string& name) {
    const auto ways = bench::bare_algorithms();
    return std::any_of(ways.begin(), ways.end(),
                       [&](const bench::BareAlgorithm& way) { return name == way.operation; });
  });
}

bench::OptionTable option_table(Job& job) {
  bench::OptionTable table;
  table.add("--sizes", "A,B,...", "of messages and copies (8 to 4M)",
            [&job](const std::string& v) { return bench::parse_size_list(v, job.sizes); });
  table.add("--samples", "N", "at most, for each figure (1000)",
            [&job](const std::string& v) { return bench::parse_positive(v, job.samples); });
  table.add("--ping-pong", "", "messages in pieces, gathering by reading and broadcasts, too",
            [&job](const std::string&) { return job.ping_pong = true; });
  table.add("--collectives", "LIST", "these instead: barrier, bcast, allreduce, allgather, alltoall",
            [&job](const std::string& v) { return parse_collectives(v, job.collectives); });
  table.add("--processes", "N", "of the collectives; more than cores share them (2)",
            [&job](const std::string& v) { return bench::parse_positive(v, job.processes) && job.processes >= 2; });
  table.add("--cores-apart", "NS-NS",
            "two processes: only samples count before and after which a cache line took so long",
            [&job](const std::string& v) { return bench::parse_core_distance(v, job.cores_apart); });
  table.add("--json", "FILE", "write the results as JSON, too; '-': to standard output instead of the table",
            [&job](const std::string& v) { return !(job.json = v).empty(); });
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  Job job;
  std::string message;
  const bench::OptionTable table = option_table(job);
  bench::ParseResult parsed = table.parse(argc, argv, message);
  if (parsed == bench::ParseResult::kRun && job.cores_apart && (job.processes != 2 || job.cores.size() < 2)) {
    message = "--cores-apart is for 2 processes, on 2 cores";
    parsed = bench::ParseResult::kError;
  }
  if (parsed != bench::ParseResult::kRun) {
    std::fprintf(parsed == bench::ParseResult::kHelp ? stdout : stderr, "%s%susage: host_limits [options]\n%s",
                 message.c_str(), message.empty() ? "" : "\n", table.help().c_str());
    return parsed == bench::ParseResult::kHelp ? 0 : 2;
  }
  job.report.name = "host_limits";
  job.report.unit = "us";
  job.report.library = "none";
  job.report.ranks = job.collectives.empty() ? 1 : job.processes;
  job.report.memory[0] = job.report.memory[1] = "host";
  if (!job.collectives.empty()) {
    if (!measure_collectives(job)) return 1;
  } else {
    if (job.cores.size() >= 2) measure_messages(job);
    measure_copies(job);
  }
  if (!job.json.empty() && !write_json(job.report, job.json)) {
    std::fprintf(stderr, "host_limits: cannot write %s\n", job.json.c_str());
    return 1;
  }
  return 0;
}
