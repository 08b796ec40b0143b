// nccl: times of the same operations on device memory with MPI and with NCCL. Both are called from C++, in turns, with
// one process per GPU.
//
// - nccl_sync: each call, followed by a synchronisation of its stream, as an MPI program waits for each of its calls
// - nccl_enqueued: consecutive calls in a stream, one synchronisation at the end
// - nccl_graph: the same as one CUDA graph
// - mpi: blocking MPI calls
// - kernel_...: an empty kernel before each call; before MPI also a synchronisation of its stream
// - bare_push, bare_pull: messages only, as copies by the sender or by the receiver; a synchronisation after each round
//
// Times are in microseconds per call: the median over the rounds of the median over a round's batches. A batch counts
// with the slowest rank's mean over its calls. Sizes are those of the larger of a rank's two buffers. The results of
// each method are checked once for each operation and size, before it is timed. NVLink multicast is off.
//
// NCCL has no v-forms and no neighbourhoods; programs that use it replace them by a group of ncclSend and ncclRecv, and
// so does this one. The blocks of the v-forms have equal lengths here. Neighbours are those of a periodic grid with two
// axes. NCCL has nothing for scans, which are measured with MPI alone.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "common/measure.hpp"
#include "common/program.hpp"
#include "nccl/operation.hpp"
#include "nccl/peers.hpp"

extern "C" const unsigned char gpu_limits_fatbin[];

namespace {

constexpr int kNotHere = 5;  // exit code: no NCCL
constexpr int kWrong = 4;    // exit code: wrong values
constexpr int kLeastCalls = 4, kMostCalls = 100;
constexpr int kBatches = 3;  // number of batches per method and round

const std::vector<std::string> kWays = {
    "nccl_sync",         "nccl_enqueued", "nccl_graph", "mpi",       "kernel_nccl_sync", "kernel_nccl_enqueued",
    "kernel_nccl_graph", "kernel_mpi",    "bare_push",  "bare_pull", "kernel_sync",      "kernel_enqueued",
    "kernel_graph"};
constexpr char kKernel[] = "kernel";  // an operation that is only the empty kernel

struct Choice {
  std::vector<std::string> operations, ways;  // empty: all
  int rounds = 5, milliseconds = 3, limit = 0;
  std::string nccl = "libnccl.so.2";
  bool without_nccl = false;
};

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

// A method of performing an operation: a batch of calls, complete on return.
struct Way {
  std::string name;
  std::function<void(int calls)> batch;
  std::vector<double> samples = {};  // microseconds per call on this rank
};

class Comparison {
 public:
  Comparison(const bench::World& world, const bench::Options& options, const Choice& choice, const bench::Nccl& nccl,
             bench::Report& report)
      : world_(world), options_(options), choice_(choice), nccl_(nccl), report_(report), module_(gpu_limits_fatbin) {
    place_ = {world.rank, world.size, world.comm, {}};
    grid_ = bench::cartesian_place(world.comm, bench::grid_of(world.size));
    const std::size_t blocks = std::max<std::size_t>(static_cast<std::size_t>(world.size), 2 * bench::kAxes);
    const std::size_t most = std::max(*std::max_element(options.sizes.begin(), options.sizes.end()), 4 * blocks);
    send_ = static_cast<float*>(gpu::allocate(most));
    receive_ = static_cast<float*>(gpu::allocate(most));
    empty_ = module_.function("limits_empty");
    std::vector<float> values(most / 4);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(world.rank, i);
    gpu::copy(send_, values.data(), most / 4 * 4);
    peers_ = std::make_unique<bench::Peers>(world, send_, receive_);
    if (!peers_->ready()) report_.settings.emplace_back("bare copies", "none: the GPUs cannot reach one another");
  }
  ~Comparison() {
    MPI_Comm_free(&grid_.comm);
    peers_.reset();
    gpu::free(receive_);
    gpu::free(send_);
    gpu::destroy_stream(stream_);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  // Returns main's exit status.
  int run() {
    start_ = MPI_Wtime();
    if (contains(choice_.operations, kKernel)) kernel();
    for (const bench::Compared& operation : bench::compared(world_.size)) {
      if (!contains(choice_.operations, operation.name)) continue;
      for (const std::size_t size : options_.sizes) {
        if (late(operation.name, size)) return status();
        compare(operation, size);
      }
    }
    return status();
  }

 private:
  static float value_of(int rank, std::size_t i) { return static_cast<float>(bench::sent_value(rank, i)); }

  bool late(const std::string& name, std::size_t size) {
    const bool over = choice_.limit > 0 && MPI_Wtime() - start_ > choice_.limit;
    if (bench::from_root(world_, over ? 1 : 0) == 0) return false;
    if (world_.rank == 0) {
      std::fprintf(stderr, "nccl: --limit %d: nothing measured from %s of %zu bytes on\n", choice_.limit, name.c_str(),
                   size);
    }
    return true;
  }

  // Returns main's exit status. Collective.
  int status() {
    MPI_Allreduce(MPI_IN_PLACE, &wrong_, 1, MPI_INT, MPI_MAX, world_.comm);
    return wrong_ != 0 ? kWrong : 0;
  }

  void launch() { gpu::launch(empty_, {1}, {32}, stream_, 0u); }
  void synchronize() { gpu::synchronize(stream_); }

  // Measures only the empty kernel, for comparison with the time that the kernel adds to an operation.
  void kernel() {
    add_enqueued(kKernel, [this] { launch(); });
    measure(kKernel, 0);
  }

  void compare(const bench::Compared& operation, std::size_t size) {
    const std::size_t count = std::max<std::size_t>(size / 4 / static_cast<std::size_t>(operation.blocks), 1);
    const bool in_grid = operation.collective != nullptr && operation.collective->neighbourhood;
    const bench::Place& place = in_grid ? grid_ : place_;
    const bench::Exchange exchange{place, nccl_, stream_, send_, receive_, count};
    const bench::Call call(place, operation.blocks, static_cast<int>(count), MPI_FLOAT, 4, send_, receive_);
    if (operation.collective != nullptr && !operation.transfers.empty()) {
      check(operation, exchange, "messages", [&] { by_messages(operation, exchange); });
    }
    if (nccl_.joined() && operation.in_nccl()) {
      const auto enqueue = [&] { by_nccl(operation, exchange); };
      check(operation, exchange, "NCCL", [&] {
        enqueue();
        synchronize();
      });
      add_enqueued("nccl", enqueue);
      add_enqueued("kernel_nccl", [this, enqueue] {
        launch();
        enqueue();
      });
    }
    const auto once = [&] {
      if (operation.collective != nullptr) {
        operation.collective->blocking(call);
      } else {
        by_messages(operation, exchange);
      }
    };
    check(operation, exchange, "MPI", once);
    add("mpi", once);
    add("kernel_mpi", [this, once] {
      launch();
      synchronize();
      once();
    });
    if (operation.collective == nullptr && peers_->ready()) {
      const auto push = [&] { peers_->copy(operation, exchange, true); };
      const auto pull = [&] { peers_->copy(operation, exchange, false); };
      check(operation, exchange, "a bare push", push);
      check(operation, exchange, "a bare pull", pull);
      add("bare_push", push);
      add("bare_pull", pull);
    }
    measure(operation.name, count * static_cast<std::size_t>(operation.blocks) * 4);
  }

  // Adds a method that is complete after each call.
  void add(const std::string& name, const std::function<void()>& once) {
    Way way{name, [once](int calls) {
              for (int i = 0; i < calls; ++i) once();
            }};
    if (first_.name.empty()) first_ = way;
    if (contains(choice_.ways, name)) ways_.push_back(std::move(way));
  }

  // Adds the three methods that enqueue work.
  void add_enqueued(const std::string& name, const std::function<void()>& enqueue) {
    add(name + "_sync", [this, enqueue] {
      enqueue();
      synchronize();
    });
    if (contains(choice_.ways, name + "_enqueued")) {
      ways_.push_back({name + "_enqueued", [this, enqueue](int calls) {
                         for (int i = 0; i < calls; ++i) enqueue();
                         synchronize();
                       }});
    }
    if (contains(choice_.ways, name + "_graph")) graphs_.push_back({name + "_graph", enqueue});
  }

  // Chooses the number of calls per batch, warms up, and measures all methods in turns.
  void measure(const std::string& operation, std::size_t bytes) {
    const int calls = batch_size();
    std::vector<std::unique_ptr<gpu::Graph>> graphs;
    for (const auto& [name, enqueue] : graphs_) {
      graphs.push_back(std::make_unique<gpu::Graph>());
      gpu::Graph::begin(stream_);
      for (int i = 0; i < calls; ++i) enqueue();
      graphs.back()->end(stream_);
      ways_.push_back({name, [this, graph = graphs.back().get()](int) {
                         graph->launch(stream_);
                         synchronize();
                       }});
    }
    for (Way& way : ways_) {
      bench::barrier(world_);
      way.batch(std::min(calls, 5));
    }
    for (int round = 0; round < choice_.rounds; ++round) {
      // Uses another order each time, so that a change in the machine affects all methods alike.
      std::rotate(ways_.begin(), ways_.begin() + (round > 0 && ways_.size() > 1 ? 1 : 0), ways_.end());
      for (Way& way : ways_) {
        for (int i = 0; i < kBatches; ++i) way.samples.push_back(timed(way, calls) / calls);
      }
    }
    report(operation, bytes, calls);
    ways_.clear();  // destroyed before the graphs that they launch
    graphs_.clear();
    first_ = {};
  }

  double timed(const Way& way, int calls) {
    bench::barrier(world_);
    const double start = MPI_Wtime();
    way.batch(calls);
    return (MPI_Wtime() - start) * 1e6;
  }

  // Returns the number of calls of the first method that fit into the time of a batch. That method need not be among
  // the measured ones.
  int batch_size() {
    timed(first_, kLeastCalls);
    const std::vector<double> slowest =
        bench::combine(world_, {timed(first_, kLeastCalls)}, world_.size, bench::Combine::kMax);
    const double each = std::max(slowest.front() / kLeastCalls, 0.1);
    return bench::from_root(
        world_, static_cast<int>(std::clamp(choice_.milliseconds * 1e3 / each, 1.0 * kLeastCalls, 1.0 * kMostCalls)));
  }

  // Prints one line for the operation and size, and keeps a row for each method.
  void report(const std::string& operation, std::size_t bytes, int calls) {
    std::sort(ways_.begin(), ways_.end(),
              [](const Way& one, const Way& other) { return place_of(one) < place_of(other); });
    if (bench::prints_table(world_, options_)) std::printf("%-20s %10zu", operation.c_str(), bytes);
    for (const Way& way : ways_) {
      const std::vector<double> slowest = bench::combine(world_, way.samples, world_.size, bench::Combine::kMax);
      if (world_.rank != 0) continue;
      std::vector<double> rounds;
      for (auto batch = slowest.begin(); batch != slowest.end(); batch += kBatches) {
        rounds.push_back(bench::summarise({batch, batch + kBatches}, true).median);
      }
      bench::Row row{operation + ' ' + way.name, bytes, calls, bench::summarise(std::move(rounds), true), {}};
      if (bench::prints_table(world_, options_)) std::printf(" %s %.2f", way.name.c_str(), row.value.median);
      report_.rows.push_back(std::move(row));
    }
    if (world_.rank != 0) return;
    if (bench::prints_table(world_, options_)) {
      std::printf("\n");
      std::fflush(stdout);
    }
    // The file is rewritten each time, so that an interrupted run leaves its results.
    if (!options_.json.empty() && options_.json != "-") (void)write_json(report_, options_.json);
  }

  static std::size_t place_of(const Way& way) {
    return static_cast<std::size_t>(std::find(kWays.begin(), kWays.end(), way.name) - kWays.begin());
  }

  // Performs the operation once, after poisoning the receive buffer, and checks the received data.
  void check(const bench::Compared& operation, const bench::Exchange& exchange, const char* who,
             const std::function<void()>& once) {
    const bench::Operation* const collective = operation.collective;
    const bench::Place& place = exchange.place;
    const std::size_t count = exchange.count, floats = count * static_cast<std::size_t>(operation.blocks);
    gpu::fill(receive_, 0xff, 4 * floats);  // NaN in every float
    if (collective != nullptr && collective->starts_in_receive && place.rank == bench::kRoot) {
      gpu::copy(receive_, send_, 4 * floats);
    }
    bench::barrier(world_);
    once();
    bench::barrier(world_);
    std::vector<float> found(floats);
    gpu::copy(found.data(), receive_, 4 * floats);
    if (collective == nullptr) {
      for (const bench::Transfer& each : operation.transfers) {
        if (each.to != place.rank) continue;
        expect(operation, count, who, found, each.to_block, [&](std::size_t i) {
          return value_of(each.from, static_cast<std::size_t>(each.from_block) * count + i);
        });
      }
      return;
    }
    for (int block = 0; block < collective->receive_blocks(place); ++block) {
      expect(operation, count, who, found, block,
             [&](std::size_t i) { return static_cast<float>(collective->expected(place, block, i, count)); });
    }
  }

  // Compares a block: every element of a short block; in a long block the first, the last, and every 61st.
  template <class Expected>
  void expect(const bench::Compared& operation, std::size_t count, const char* who, const std::vector<float>& found,
              int block, Expected expected) {
    const std::size_t step = count > (std::size_t{1} << 18) ? 61 : 1;
    for (std::size_t i = 0; i < count; i = i + step < count || i == count - 1 ? i + step : count - 1) {
      const float value = found[static_cast<std::size_t>(block) * count + i], right = expected(i);
      if (value == right) continue;
      std::fprintf(stderr, "nccl: rank %d: %s of %zu floats a block by %s: element %zu of block %d is %g, not %g\n",
                   place_.rank, operation.name.c_str(), count, who, i, block, static_cast<double>(value),
                   static_cast<double>(right));
      wrong_ = 1;
      return;
    }
  }

  const bench::World& world_;
  const bench::Options& options_;
  const Choice& choice_;
  const bench::Nccl& nccl_;
  bench::Report& report_;
  const gpu::Module module_;
  gpu::Function empty_ = nullptr;
  gpu::Stream stream_ = gpu::create_stream(true);
  bench::Place place_, grid_;
  float* send_ = nullptr;
  float* receive_ = nullptr;
  std::unique_ptr<bench::Peers> peers_;
  Way first_;                                                          // first method of this operation and size
  std::vector<Way> ways_;                                              // ways that are measured
  std::vector<std::pair<std::string, std::function<void()>>> graphs_;  // work to capture in a graph, by method
  double start_ = 0;
  int wrong_ = 0;
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names{kKernel};
  for (const bench::Compared& each : bench::compared(2)) names.push_back(each.name);
  return names;
}

// True if all `names` are known; otherwise false, with a message.
bool known(const std::vector<std::string>& names, const std::vector<std::string>& all, const char* kind,
           std::string& message) {
  for (const std::string& name : names) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    message = "no " + std::string(kind) + " '" + name + "'; there are " + listed(all);
    return false;
  }
  return true;
}

// Returns this rank's host and the PCI address of its GPU.
std::string device_address() {
  char text[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(text, &length);
  std::string address(text, static_cast<std::size_t>(length));
  for (const int attribute : {50 /* domain */, 33 /* bus */, 34 /* device */}) {
    int value = 0;
    GPU_CALL(cuDeviceGetAttribute, &value, attribute, gpu::device());
    address += ':' + std::to_string(value);
  }
  return address;
}

// True if any two ranks have the same device. Collective.
bool ranks_share_devices(const bench::World& world) {
  std::vector<std::string> all = bench::gather_text(world, device_address());
  std::sort(all.begin(), all.end());
  return bench::from_root(world, std::adjacent_find(all.begin(), all.end()) != all.end() ? 1 : 0) != 0;
}

// Opens NCCL on all ranks, or on none. If NCCL cannot be used, prints a message and returns false.
bool open_nccl(const bench::World& world, const Choice& choice, bench::Nccl& nccl) {
  std::string why;
  const bool opened = nccl.open(choice.nccl, why);
  int all = opened ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, world.comm);
  if (all == 0) {
    // The lowest rank that cannot open NCCL reports the failure.
    int first = opened ? world.size : world.rank;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, world.comm);
    if (first == world.rank) {
      std::fprintf(
          stderr,
          "nccl: rank %d: NCCL cannot be opened: %s\n"
          "Give its path with --nccl (PyTorch has it in site-packages/nvidia/nccl/lib/libnccl.so.2; bench/nccl.py "
          "finds it), or measure MPI alone with --without-nccl.\n",
          world.rank, why.c_str());
    }
    return false;
  }
  if (ranks_share_devices(world)) {
    if (world.rank == 0) {
      std::fprintf(
          stderr,
          "nccl: some of the %d ranks share a GPU, and NCCL requires one for each. Start fewer ranks, or measure "
          "MPI alone with --without-nccl.\n",
          world.size);
    }
    return false;
  }
  nccl.join(world);
  return true;
}

int body(const bench::Program& program, const bench::World& world, const bench::Options& options,
         const Choice& choice) {
  (void)bench::memory_of(program, world, options);  // selects this rank's device
  bench::Nccl nccl;
  if (!choice.without_nccl && !open_nccl(world, choice, nccl)) return kNotHere;
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  report.validated = true;
  report.settings = {{"nccl", nccl.joined() ? nccl.version() : "none"},
                     {"device", gpu::device_name()},
                     {"driver", gpu::driver_version()},
                     {"alltoall, gather, scatter", nccl.joined() && !nccl.has_new_functions() ? "groups" : "functions"},
                     {"rounds", std::to_string(choice.rounds)}};
  Comparison comparison(world, options, choice, nccl, report);
  if (bench::prints_table(world, options)) bench::print_heading(report);
  const int status = comparison.run();
  const int written = bench::finish(program, world, options, report);
  return status != 0 ? status : written;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.sizes = {8, 131072, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
  options.memory[0] = options.memory[1] = bench::MemoryKind::kCuda;
  Choice choice;
  bench::OptionTable table;
  table.add("--sizes", "A,B,...", "bytes of the larger buffer (8,128K,1M,4M,16M,64M,256M)",
            [&](const std::string& v) { return bench::parse_size_list(v, options.sizes); });
  table.add("--operations", "LIST", listed(operation_names()) + " (all)",
            [&](const std::string& v) { return !(choice.operations = bench::split(v)).empty(); });
  table.add("--ways", "LIST", listed(kWays) + " (all)",
            [&](const std::string& v) { return !(choice.ways = bench::split(v)).empty(); });
  table.add("--rounds", "N", "of all ways in turns (5)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.rounds); });
  table.add("--milliseconds", "N", "about, for each of the three batches of a way in a round (3)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.milliseconds); });
  table.add("--limit", "N", "seconds after which no further size begins (none)",
            [&](const std::string& v) { return bench::parse_positive(v, choice.limit); });
  table.add("--nccl", "PATH", "the library (libnccl.so.2, where the loader finds it)",
            [&](const std::string& v) { return !(choice.nccl = v).empty(); });
  table.add("--without-nccl", "", "MPI and bare copies alone",
            [&](const std::string&) { return choice.without_nccl = true; });
  table.add("--json", "FILE", "write the results as JSON, too; '-': to standard output instead of the lines",
            [&](const std::string& v) { return !(options.json = v).empty(); });
  const auto check = [&](std::string& message) {
    return known(choice.operations, operation_names(), "operation", message) &&
           known(choice.ways, kWays, "way", message);
  };
  const bench::Program program{"nccl", "MPI on device buffers and NCCL from C++, a GPU for each rank.", "N", false,
                               check};
  return bench::run_program(argc, argv, program, table, options,
                            [&](const bench::World& world) { return body(program, world, options, choice); });
}
