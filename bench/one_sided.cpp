// one_sided: cost, for the origin, of put, get and atomic updates of another rank's memory, with or without the
// target's participation. The lower rank of each pair is the origin; the upper one waits in a barrier.
//
//   put, get, fetch_and_op, compare_and_swap, accumulate   one operation and a flush, in microseconds
//   put stream, get stream                                 a window of operations and one flush, per operation
//   lock put unlock                                        a complete epoch with one put
//   fence                                                  a fence of all ranks without operations
//
// With --mem, the origin's buffer is in memory of that kind. With --kind create, the window is, too.
//
// With --threads, several threads of each origin work at once, each on its own window (MPI_THREAD_MULTIPLE). The figure
// is then the number of operations per second of all threads together, in millions.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "common/measure.hpp"
#include "common/program.hpp"
#include "common/threads.hpp"

namespace {

using bench::Options;
using bench::World;

struct Window {
  MPI_Win win = MPI_WIN_NULL;
  char* base = nullptr;
};

Window make(const std::string& kind, std::size_t bytes, void* memory) {
  Window window;
  const auto size = static_cast<MPI_Aint>(bytes);
  if (kind == "create") {
    window.base = static_cast<char*>(memory);
    MPI_Win_create(window.base, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
  } else {
    MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.base, &window.win);
  }
  return window;
}

struct Case {
  const char* name;
  bool sized;  // true if measured at every size; otherwise only at 8 bytes
  bool epoch;  // true if the operation contains its own epochs
  std::function<void(const World&, const Window&, char* buffer, int bytes, int window)> once;
};

const Case kCases[] = {
    {"put", true, false,
     [](const World& world, const Window& w, char* buffer, int bytes, int) {
       MPI_Put(buffer, bytes, MPI_BYTE, world.peer(), 0, bytes, MPI_BYTE, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"get", true, false,
     [](const World& world, const Window& w, char* buffer, int bytes, int) {
       MPI_Get(buffer, bytes, MPI_BYTE, world.peer(), 0, bytes, MPI_BYTE, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"put stream", true, false,
     [](const World& world, const Window& w, char* buffer, int bytes, int window) {
       for (int i = 0; i < window; ++i) MPI_Put(buffer, bytes, MPI_BYTE, world.peer(), 0, bytes, MPI_BYTE, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"get stream", true, false,
     [](const World& world, const Window& w, char* buffer, int bytes, int window) {
       for (int i = 0; i < window; ++i) MPI_Get(buffer, bytes, MPI_BYTE, world.peer(), 0, bytes, MPI_BYTE, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"fetch_and_op", false, false,
     [](const World& world, const Window& w, char* buffer, int, int) {
       MPI_Fetch_and_op(buffer, buffer + 8, MPI_INT64_T, world.peer(), 0, MPI_SUM, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"compare_and_swap", false, false,
     [](const World& world, const Window& w, char* buffer, int, int) {
       MPI_Compare_and_swap(buffer, buffer + 8, buffer + 16, MPI_INT64_T, world.peer(), 0, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"accumulate", true, false,
     [](const World& world, const Window& w, char* buffer, int bytes, int) {
       MPI_Accumulate(buffer, bytes / 8, MPI_DOUBLE, world.peer(), 0, bytes / 8, MPI_DOUBLE, MPI_SUM, w.win);
       MPI_Win_flush(world.peer(), w.win);
     }},
    {"lock put unlock", false, true,
     [](const World& world, const Window& w, char* buffer, int bytes, int) {
       MPI_Win_lock(MPI_LOCK_SHARED, world.peer(), 0, w.win);
       MPI_Put(buffer, bytes, MPI_BYTE, world.peer(), 0, bytes, MPI_BYTE, w.win);
       MPI_Win_unlock(world.peer(), w.win);
     }},
};

bool is_stream(const Case& each) { return std::strstr(each.name, "stream") != nullptr; }

bool is_wanted(const std::vector<std::string>& only, const char* name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

std::vector<std::size_t> sizes_of(const Case& each, const Options& options) {
  if (!each.sized) return {8};
  std::vector<std::size_t> sizes = options.sizes;
  if (std::strcmp(each.name, "accumulate") == 0) std::erase_if(sizes, [](std::size_t bytes) { return bytes % 8 != 0; });
  return sizes;
}

// Lets the origins work while the other ranks wait.
bench::Repeat by_origins(const World& world, const Window& w, const Case& each, char* buffer, int bytes, int window) {
  return [&world, &w, &each, buffer, bytes, window](int iterations) {
    const double start = MPI_Wtime();
    double end = start;
    if (world.lower()) {
      if (!each.epoch) MPI_Win_lock(MPI_LOCK_SHARED, world.peer(), 0, w.win);
      const double begun = MPI_Wtime();
      for (int i = 0; i < iterations; ++i) each.once(world, w, buffer, bytes, window);
      end = MPI_Wtime() - begun + start;
      if (!each.epoch) MPI_Win_unlock(world.peer(), w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return world.lower() ? end - start : MPI_Wtime() - start;
  };
}

// One thread's window and buffer.
struct Place {
  Window window;
  bench::ApartBytes target, buffer;
};

// Lets `count` threads of each origin work, as by_origins() does with one.
bench::Repeat by_threads(const World& world, const bench::Threads& threads, std::size_t count,
                         std::vector<Place>& places, const Case& each, int bytes, int window) {
  return [&world, &threads, count, &places, &each, bytes, window](int iterations) {
    const double start = MPI_Wtime();
    double end = start;
    if (world.lower()) {
      for (std::size_t t = 0; !each.epoch && t < count; ++t)
        MPI_Win_lock(MPI_LOCK_SHARED, world.peer(), 0, places[t].window.win);
      const double begun = MPI_Wtime();
      threads.run(count, [&](std::size_t t) {
        char* const buffer = reinterpret_cast<char*>(places[t].buffer.data());
        for (int i = 0; i < iterations; ++i) each.once(world, places[t].window, buffer, bytes, window);
      });
      end = MPI_Wtime() - begun + start;
      for (std::size_t t = 0; !each.epoch && t < count; ++t) MPI_Win_unlock(world.peer(), places[t].window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return world.lower() ? end - start : MPI_Wtime() - start;
  };
}

// Adds one to a counter in each window with every operation, from all threads at once; true if none is lost.
bool verify(const World& world, const bench::Threads& threads, std::vector<Place>& places) {
  constexpr std::int64_t kTimes = 1000;
  for (Place& place : places) std::memset(place.window.base, 0, sizeof kTimes);
  MPI_Barrier(world.comm);
  if (world.lower()) {
    threads.run(places.size(), [&](std::size_t t) {
      const std::int64_t one = 1;
      std::int64_t before = -1;
      MPI_Win_lock(MPI_LOCK_SHARED, world.peer(), 0, places[t].window.win);
      for (std::int64_t i = 0; i < kTimes; ++i)
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, world.peer(), 0, MPI_SUM, places[t].window.win);
      MPI_Win_unlock(world.peer(), places[t].window.win);
    });
  }
  MPI_Barrier(world.comm);
  return world.lower() || std::all_of(places.begin(), places.end(), [&](const Place& place) {
           std::int64_t found = 0;
           MPI_Win_lock(MPI_LOCK_SHARED, world.rank, 0, place.window.win);
           std::memcpy(&found, place.window.base, sizeof found);
           MPI_Win_unlock(world.rank, place.window.win);
           return found == kTimes;
         });
}

// Puts data and gets it back; true if it arrives correctly in both directions.
bool verify(const World& world, const Window& w, bench::Buffer& target, bench::Buffer& buffer, std::size_t bytes) {
  std::vector<char> out(bytes);
  std::vector<char> back(bytes, 1);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 7 + 3);
  const int count = static_cast<int>(bytes);
  buffer.write(out.data(), bytes);
  MPI_Win_fence(0, w.win);
  if (world.lower()) MPI_Put(buffer.data(), count, MPI_BYTE, world.peer(), 0, count, MPI_BYTE, w.win);
  MPI_Win_fence(0, w.win);
  if (world.lower()) buffer.write(back.data(), bytes);
  if (world.lower()) MPI_Get(buffer.data(), count, MPI_BYTE, world.peer(), 0, count, MPI_BYTE, w.win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
  if (world.lower() || w.base == target.data()) {
    (world.lower() ? buffer : target).read(back.data(), bytes);
  } else {
    std::memcpy(back.data(), w.base, bytes);
  }
  return back == out;
}

void add(const World& world, bench::Report& report, const std::string& label, std::size_t bytes,
         const bench::Plan& plan, std::vector<double> samples, double factor, bool table) {
  for (double& sample : samples) sample *= factor;
  samples = bench::combine(world, std::move(samples), world.pairs(), bench::Combine::kMean);
  if (world.rank == 0)
    bench::add_row(report, {label, bytes, plan.iterations, bench::summarise(samples, true), {}}, table);
}

int run_all(const bench::Program& program, const World& world, const Options& options, const std::string& kind,
            const std::vector<std::string>& only) {
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  report.window = options.window;
  report.settings = {{"window", kind}};
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  std::size_t most = 64;
  for (const std::size_t size : options.sizes) most = std::max(most, size);
  const bench::MemoryKind kind_of_memory = bench::memory_of(program, world, options);
  bench::Buffer memory;
  bench::Buffer buffer;
  bench::allocate(program, world, kind_of_memory, most, memory);
  bench::allocate(program, world, kind_of_memory, most, buffer);
  Window w = make(kind, most, memory.data());
  if (options.validate && !verify(world, w, memory, buffer, most)) {
    std::fprintf(stderr, "one_sided: rank %d: the data is wrong\n", world.rank);
    MPI_Abort(world.comm, 4);
  }
  for (const Case& each : kCases) {
    if (!is_wanted(only, each.name)) continue;
    for (const std::size_t bytes : sizes_of(each, options)) {
      const int window = is_stream(each) ? options.window : 1;
      const bench::Repeat repeat =
          by_origins(world, w, each, static_cast<char*>(buffer.data()), static_cast<int>(bytes), window);
      const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
      add(world, report, each.name, bytes, plan, bench::measure(world, plan, repeat), 1e6 / plan.iterations / window,
          table);
    }
  }
  if (is_wanted(only, "fence")) {
    const bench::Repeat repeat = bench::whole_time([&](int iterations) {
      for (int i = 0; i < iterations; ++i) MPI_Win_fence(0, w.win);
    });
    const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
    add(world, report, "fence", 0, plan, bench::measure(world, plan, repeat), 1e6 / plan.iterations, table);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
  MPI_Win_free(&w.win);
  return bench::finish(program, world, options, report);
}

struct Choices {
  std::string kind = "allocate";
  std::vector<std::string> only;
  std::vector<std::size_t> threads;
  bool bind = false;
};

int run_threads(const bench::Program& program, const World& world, const Options& options, const Choices& choices) {
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "M/s";
  report.less_is_better = false;
  report.window = options.window;
  report.settings = {{"window", choices.kind}};
  const bool table = bench::prints_table(world, options);
  if (table) bench::print_heading(report);
  const bench::Threads threads(world, choices.bind);
  std::size_t most = 64;
  for (const std::size_t size : options.sizes) most = std::max(most, size);
  std::vector<Place> places(*std::max_element(choices.threads.begin(), choices.threads.end()));
  for (Place& place : places) {
    place.target.resize(most);
    place.buffer.resize(most);
    place.window = make(choices.kind, most, place.target.data());
  }
  if (options.validate && !verify(world, threads, places)) {
    std::fprintf(stderr, "one_sided: rank %d: an update was lost\n", world.rank);
    MPI_Abort(world.comm, 4);
  }
  for (const Case& each : kCases) {
    if (!is_wanted(choices.only, each.name)) continue;
    for (const std::size_t bytes : sizes_of(each, options)) {
      for (const std::size_t count : choices.threads) {
        const int window = is_stream(each) ? options.window : 1;
        const bench::Repeat repeat = by_threads(world, threads, count, places, each, static_cast<int>(bytes), window);
        const bench::Plan plan = bench::agree_on_plan(world, options, repeat);
        std::vector<double> samples = bench::measure(world, plan, repeat);
        const double operations = static_cast<double>(count) * plan.iterations * window;
        for (double& sample : samples) sample = operations / sample * 1e-6;
        samples = bench::combine(world, std::move(samples), world.pairs(), bench::Combine::kSum);
        if (world.rank != 0) continue;
        const std::string label = std::string(each.name) + ", " + std::to_string(count);
        bench::add_row(report, {label, bytes, plan.iterations, bench::summarise(samples, false), {}}, table);
      }
    }
  }
  for (Place& place : places) MPI_Win_free(&place.window.win);
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Choices choices;
  bench::OptionTable table = bench::common_options(options);
  table.add("--kind", "KIND", "window of MPI_Win_allocate or MPI_Win_create: allocate (the default) or create",
            [&](const std::string& v) {
              choices.kind = v;
              return v == "allocate" || v == "create";
            });
  table.add("--only", "A,B,...", "these alone: put, get, put stream, fetch_and_op, fence, ...",
            [&](const std::string& v) {
              choices.only = bench::split(v);
              return !choices.only.empty();
            });
  table.add("--threads", "A,B,...", "operations per second of so many threads of each origin, a window each",
            [&](const std::string& v) { return bench::parse_size_list(v, choices.threads); });
  table.add("--bind-threads", "", "bind each thread to a core of its own, if there are enough",
            [&](const std::string&) { return choices.bind = true; });
  const auto sensible = [&](std::string& message) {
    for (const std::size_t count : choices.threads) {
      if (count < 1 || count > 256) message = "--threads are from 1 to 256";
    }
    return message.empty();
  };
  // MPI is initialised before the options are parsed.
  const bool threads = std::any_of(argv, argv + argc, [](const char* word) {
    return std::strncmp(word, "--threads", std::strlen("--threads")) == 0;
  });
  const bench::Program program{
      "one_sided", "Put, get and atomic updates of another rank's memory.", "2", true, sensible, threads, threads};
  return bench::run_program(argc, argv, program, table, options, [&](const World& world) {
    return choices.threads.empty() ? run_all(program, world, options, choices.kind, choices.only)
                                   : run_threads(program, world, options, choices);
  });
}
