// gpu_limits: speed of two GPUs (or of one, for both sides) without MPI, in one process: the limits with which the
// results of the other benchmarks are compared. Times are in microseconds, from before the call that starts the work
// until polling shows that the work is complete.
#include <cstdio>

#include "common/options.hpp"
#include "common/report.hpp"
#include "limits/face_kernels.hpp"
#include "limits/two_processes.hpp"

extern "C" const unsigned char gpu_limits_fatbin[];

namespace {

using bench::Devices;
using bench::Effort;
using bench::Memory;
using bench::Statistics;

constexpr int kInFlight = 4;  // number of copies in one stream when bandwidth is measured

struct Choice {
  std::vector<std::size_t> sizes{8,      32,     128,     512,     2048,     8192,     32768,
                                 131072, 524288, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
  int edge = 258, random = 65536, samples = 500, milliseconds = 50;
  bool validate = false;
  std::string json;

  Effort effort() const { return {std::min(samples, 15), samples, milliseconds * 1e3}; }
};

class Limits {
 public:
  // `exchanges`: results of two processes, measured before this process had a context.
  Limits(const Choice& choice, const std::vector<bench::Exchange>& exchanges) : choice_(choice), exchanges_(exchanges) {
    report_.name = "gpu_limits";
    report_.unit = "us";
    report_.library = devices_.describe();
    report_.ranks = 1;
    report_.memory[0] = report_.memory[1] = "cuda";
    report_.validated = choice.validate;
    report_.settings = {{"devices", devices_.same() ? "1" : "2"},
                        {"peer access", devices_.peer_access() ? "yes" : "no"}};
    if (choice_.json != "-") std::printf("# gpu_limits, us; %s\n", report_.library.c_str());
  }

  int run() {
    for (const bench::Exchange& each : exchanges_) {
      const char* const labels[] = {"two processes, get", "two processes, put", "two processes, pinned"};
      add(labels[static_cast<int>(each.way)], each.bytes, each.times, each.bytes);
    }
    launches();
    pointer_query();
    host_copies();
    faces();
    copies();
    if (!choice_.json.empty() && !write_json(report_, choice_.json)) {
      std::fprintf(stderr, "gpu_limits: cannot write %s\n", choice_.json.c_str());
      return 1;
    }
    return wrong_ ? 4 : 0;
  }

 private:
  // `moved`: bytes transferred in one sample, for the bandwidth.
  void add(const char* label, std::size_t bytes, const Statistics& times, std::size_t moved, std::string note = "") {
    bench::Row row{label,          bytes, 1, times, {{"GB/s", static_cast<double>(moved) / times.median * 1e-3}},
                   std::move(note)};
    if (choice_.json != "-") print_row(row, report_.rows.empty());
    report_.rows.push_back(std::move(row));
  }

  void launches() {
    devices_.select(0);
    const gpu::Module module(gpu_limits_fatbin);
    const gpu::Function empty = module.function("limits_empty");
    const auto launch = [&] { gpu::launch(empty, {1}, {32}, devices_.stream(0), 0u); };
    add("launch", 0,
        sample(choice_.effort(),
               [&] {
                 double microseconds = 0;
                 devices_.timed(0, [&] {
                   const double start = bench::now_us();
                   launch();
                   microseconds = bench::now_us() - start;
                 });
                 return microseconds;
               }),
        0, "the call alone");
    add("launch and wait", 0, sample(choice_.effort(), [&] { return devices_.timed(0, launch); }), 0);
  }

  void pointer_query() {
    const Memory memory(devices_, 0, 4096);
    // Context, memory type, buffer id, managed, ordinal: the attributes that determine a pointer's kind.
    int attributes[] = {1, 2, 7, 8, 9};
    void* context = nullptr;
    unsigned type = 0, managed = 0;
    unsigned long long buffer = 0;
    int ordinal = 0;
    void* values[] = {&context, &type, &buffer, &managed, &ordinal};
    const auto query = [&] {
      constexpr int kCalls = 100;
      const double start = bench::now_us();
      for (int i = 0; i < kCalls; ++i) {
        GPU_CALL(cuPointerGetAttributes, 5u, attributes, values, gpu::detail::address_of(memory.as()));
      }
      return (bench::now_us() - start) / kCalls;
    };
    add("pointer query", 0, sample(choice_.effort(), query), 0);
  }

  void host_copies() {
    for (const std::size_t bytes :
         {std::size_t{8}, choice_.sizes.back() < (64u << 20) ? choice_.sizes.back() : std::size_t{64} << 20}) {
      const Memory device(devices_, 0, bytes), host(devices_, 0, bytes, gpu::Memory::kHostPinned);
      add("device to host", bytes, one_copy(0, host, device, bytes), bytes, "pinned");
      add("host to device", bytes, one_copy(0, device, host, bytes), bytes, "pinned");
    }
  }

  void faces() {
    for (const bench::Shape shape : bench::kAllShapes) {
      const bench::FaceLimit limit =
          bench::measure_face(devices_, shape, choice_.edge, choice_.random, choice_.effort(), choice_.validate);
      add(bench::shape_name(shape), limit.bytes, limit.best, limit.bytes, limit.how);
      if (!limit.pitched_how.empty()) {
        const std::string label = std::string(bench::shape_name(shape)) + ", pitched copy";
        add(label.c_str(), limit.bytes, limit.pitched, limit.bytes, limit.pitched_how);
      }
      if (limit.difference.empty()) continue;
      std::fprintf(stderr, "gpu_limits: %s: %s\n", bench::shape_name(shape), limit.difference.c_str());
      wrong_ = true;
    }
  }

  Statistics one_copy(int side, const Memory& to, const Memory& from, std::size_t bytes) {
    return sample(choice_.effort(), [&] {
      return devices_.timed(side, [&] { gpu::copy_async(to.as(), from.as(), bytes, devices_.stream(side)); });
    });
  }

  // Times copies in one direction and in both at once, one at a time and several in flight, each started from the
  // faster side.
  void copies() {
    for (const std::size_t bytes : choice_.sizes) {
      const Memory from0(devices_, 0, bytes), from1(devices_, 1, bytes), to0(devices_, 0, bytes),
          to1(devices_, 1, bytes);
      const auto copy = [&](int source, int driver, int times) {
        for (int i = 0; i < times; ++i) {
          gpu::copy_async(source == 0 ? to1.as() : to0.as(), source == 0 ? from0.as() : from1.as(), bytes,
                          devices_.stream(driver));
        }
      };
      for (const int times : {1, kInFlight}) {
        Statistics one_way[2], both_ways[2];
        for (int pull = 0; pull < 2; ++pull) {
          one_way[pull] = sample(choice_.effort(), [&] { return devices_.timed(pull, [&] { copy(0, pull, times); }); });
          both_ways[pull] = sample(choice_.effort(), [&] {
            return devices_.timed_both([&](int side) { copy(pull == 0 ? side : 1 - side, side, times); });
          });
          devices_.rest();
        }
        const std::size_t moved = bytes * static_cast<std::size_t>(times);
        add_best(times == 1 ? "peer copy" : "peer copy x4", bytes, one_way, moved);
        add_best(times == 1 ? "both ways" : "both ways x4", bytes, both_ways, 2 * moved);
      }
      const Memory local(devices_, 0, bytes);
      add("local copy", bytes, one_copy(0, local, from0, bytes), bytes);
    }
  }

  void add_best(const char* label, std::size_t bytes, const Statistics (&pushed_pulled)[2], std::size_t moved) {
    const int better = pushed_pulled[1].median < pushed_pulled[0].median ? 1 : 0;
    add(label, bytes, pushed_pulled[better], moved, better == 1 ? "pull" : "push");
  }

  const Choice& choice_;
  const std::vector<bench::Exchange>& exchanges_;
  Devices devices_;
  bench::Report report_;
  bool wrong_ = false;
};

bench::OptionTable option_table(Choice& choice) {
  bench::OptionTable table;
  table.add("--sizes", "A,B,...", "of the copies (8 to 256M)",
            [&](const std::string& v) { return bench::parse_size_list(v, choice.sizes); });
  table.add("--edge", "N", "floats along an edge of the cube whose faces are moved (258)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.edge); });
  table.add("--random", "N", "single floats of the gather-scatter (64K)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.random); });
  table.add("--samples", "N", "at most, for each figure (500)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.samples); });
  table.add("--milliseconds", "N", "about, for each figure, beyond 15 samples (50)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.milliseconds); });
  table.add("--validate", "", "compare what the kernels moved",
            [&](const std::string&) { return choice.validate = true; });
  table.add("--json", "FILE", "write the results as JSON, too; '-': to standard output instead of the table",
            [&](const std::string& v) { return !(choice.json = v).empty(); });
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  Choice choice;
  const bench::OptionTable table = option_table(choice);
  std::string message;
  const bench::ParseResult parsed = table.parse(argc, argv, message);
  if (parsed == bench::ParseResult::kHelp) {
    std::printf("usage: gpu_limits [options]\nWhat the GPUs of this machine do without MPI.\n%s", table.help().c_str());
    return 0;
  }
  if (parsed == bench::ParseResult::kError) {
    std::fprintf(stderr, "gpu_limits: %s\n%s", message.c_str(), table.help().c_str());
    return 2;
  }
  std::string why;
  const std::vector<bench::Exchange> exchanges =
      bench::measure_exchanges({8, 4096, 65536, 1 << 20}, choice.samples, &why);
  if (!gpu::available()) {
    std::fprintf(stderr, "gpu_limits: no CUDA driver (libcuda.so.1) with a device here\n");
    return 3;
  }
  if (exchanges.empty()) std::fprintf(stderr, "gpu_limits: no limits of two processes: %s\n", why.c_str());
  return Limits(choice, exchanges).run();
}
