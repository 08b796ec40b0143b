// host_limits: what two cores of this machine do without MPI, beside which latency and bandwidth stand: a cache line
// handed from core to core and a message through shared memory (a copy into it, a flag, a copy out of it), one way in
// microseconds, and one memcpy between two buffers of each size. With --turns also longer messages in pieces, through
// little and through much memory, an allgather by reading and a broadcast (limits/turns.hpp).
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
#include "limits/clock.hpp"
#include "limits/cores.hpp"
#include "limits/turns.hpp"

namespace {

// Beyond it a message is better copied once.
constexpr std::size_t kLargestExchange = 8192;
constexpr std::size_t kShortestInTurns = 4096;

// A flag with the data right behind it, so that little data shares its line.
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

// Microseconds for one way, of `rounds` there and back.
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
  // The first one waits for the thread to be there.
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

bench::Statistics copy_us(std::size_t bytes, const bench::Effort& effort) {
  bench::Buffer from, to;
  if (!from.allocate(bench::MemoryKind::kHost, bytes) || !to.allocate(bench::MemoryKind::kHost, bytes)) return {};
  const int times = static_cast<int>(std::max<std::size_t>(1, 65536 / bytes));  // so that the clock does not count
  return bench::sample(effort, [&] {
    const double start = bench::now_us();
    for (int i = 0; i < times; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");  // every copy must be done
    }
    return (bench::now_us() - start) / times;
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes{8, 64, 1024, 2048, 8192, 32768, 262144, 1 << 20, 2 << 20, 4 << 20};
  std::string json, message;
  int samples = 1000;
  bool turns = false;
  bench::OptionTable table;
  table.add("--sizes", "A,B,...", "of messages and copies (8 to 4M)",
            [&](const std::string& v) { return bench::parse_size_list(v, sizes); });
  table.add("--samples", "N", "at most, for each figure (1000)",
            [&](const std::string& v) { return bench::parse_positive(v, samples); });
  table.add("--turns", "", "messages in pieces, gathering by reading and broadcasts, too",
            [&](const std::string&) { return turns = true; });
  table.add("--json", "FILE", "write the results as JSON, too; '-': to standard output instead of the table",
            [&](const std::string& v) { return !(json = v).empty(); });
  const bench::ParseResult parsed = table.parse(argc, argv, message);
  if (parsed != bench::ParseResult::kRun) {
    std::fprintf(parsed == bench::ParseResult::kHelp ? stdout : stderr, "%s%susage: host_limits [options]\n%s",
                 message.c_str(), message.empty() ? "" : "\n", table.help().c_str());
    return parsed == bench::ParseResult::kHelp ? 0 : 2;
  }
  bench::Report report;
  report.name = "host_limits";
  report.unit = "us";
  report.library = "none";
  report.ranks = 1;
  report.memory[0] = report.memory[1] = "host";
  const auto add = [&](const char* label, std::size_t bytes, const bench::Statistics& times) {
    bench::Row row{label, bytes, 1, times, {{"MB/s", static_cast<double>(bytes) / times.median}}};
    if (json != "-") print_row(row, report.rows.empty());
    report.rows.push_back(std::move(row));
  };
  const bench::Effort effort{std::min(samples, 20), samples, 50e3};
  const std::vector<int> cores = bench::allowed_cores();
  if (cores.size() >= 2) {
    bench::bind_to(cores[0]);
    constexpr unsigned kRounds = 2000;
    const auto exchange = [&](std::size_t bytes) {
      return bench::sample(bench::Effort{std::min(samples, 5), samples, 20e3},
                           [&] { return exchange_us(bytes, cores[1], kRounds); });
    };
    add("cache line", 64, exchange(0));
    for (const std::size_t bytes : sizes) {
      if (bytes > 0 && bytes <= kLargestExchange) add("exchange", bytes, exchange(bytes));
    }
    if (turns) {
      const auto figure = [&](const char* label, std::size_t bytes, auto once) {
        add(label, bytes, bench::sample(bench::Effort{std::min(samples, 15), samples, 60e3}, once));
      };
      for (const std::size_t bytes : sizes) {
        if (bytes == 0) continue;
        const auto rounds =
            static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{16} << 20) / bytes, 64, kRounds));
        const int other = cores[1];
        const auto broadcast = [&](bench::Broadcast how) { return bench::broadcast_us(bytes, how, other, rounds); };
        figure("bcast, memory", bytes, [&] { return broadcast(bench::Broadcast::kThroughMemory); });
        if (bytes < kShortestInTurns) continue;
        figure("bcast, reading", bytes, [&] { return broadcast(bench::Broadcast::kByReading); });
        figure("pieces, 32 KiB", bytes, [&] { return bench::in_pieces_us(bytes, 32768, other, rounds); });
        figure("pieces, 512 KiB", bytes, [&] { return bench::in_pieces_us(bytes, 524288, other, rounds); });
        figure("read block", bytes, [&] { return bench::gather_by_reading_us(bytes, false, other, rounds); });
        figure("read, copy own", bytes, [&] { return bench::gather_by_reading_us(bytes, true, other, rounds); });
      }
    }
  }
  for (const std::size_t bytes : sizes) {
    if (bytes > 0) add("memcpy", bytes, copy_us(bytes, effort));
  }
  if (!json.empty() && !write_json(report, json)) {
    std::fprintf(stderr, "host_limits: cannot write %s\n", json.c_str());
    return 1;
  }
  return 0;
}
