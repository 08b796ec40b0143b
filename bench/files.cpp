// files: time that all ranks together need to write and read a file of a given size, in microseconds, on the slowest
// rank. The file contains a three-dimensional array of doubles, of which each rank accesses a block (collectively), or
// one contiguous segment per rank (independently). The limit is the time that one process needs for the same bytes with
// pwrite() and pread().
//
// The file is empty before each write, so the time includes the allocation of its pages. Nothing waits for the disk; if
// write-back disturbs the measurement, choose a directory in memory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

using bench::Buffer;
using bench::Options;
using bench::World;

struct Choice {
  std::string directory, hint_list;
  MPI_Info hints = MPI_INFO_NULL;
  bool posix = true;
};

// A cube of doubles of about `bytes`, and this rank's block of it.
struct Array {
  int size = 1;
  int sizes[3], subsizes[3], starts[3];
  MPI_Datatype filetype = MPI_DATATYPE_NULL;

  Array(const World& world, std::size_t bytes) {
    size = std::max(world.size, static_cast<int>(std::cbrt(static_cast<double>(bytes) / sizeof(double)) + 0.5));
    int grid[3] = {0, 0, 0}, rest = world.rank;
    MPI_Dims_create(world.size, 3, grid);
    for (int axis = 2; axis >= 0; --axis) {
      const int place = rest % grid[axis];
      rest /= grid[axis];
      starts[axis] = static_cast<int>(static_cast<long long>(size) * place / grid[axis]);
      subsizes[axis] = static_cast<int>(static_cast<long long>(size) * (place + 1) / grid[axis]) - starts[axis];
      sizes[axis] = size;
    }
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &filetype);
    MPI_Type_commit(&filetype);
  }
  ~Array() { MPI_Type_free(&filetype); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] std::size_t bytes() const { return sizeof(double) * static_cast<std::size_t>(size) * size * size; }
  [[nodiscard]] int elements() const { return subsizes[0] * subsizes[1] * subsizes[2]; }
  // Returns the i-th value of this rank's block.
  [[nodiscard]] double value(int i) const {
    const int x = starts[2] + i % subsizes[2], y = starts[1] + i / subsizes[2] % subsizes[1];
    const int z = starts[0] + i / subsizes[2] / subsizes[1];
    return static_cast<double>((static_cast<long long>(z) * size + y) * size + x);
  }
};

[[noreturn]] void give_up(const World& world, const char* what) {
  std::fprintf(stderr, "files: %s failed\n", what);
  MPI_Abort(world.comm, 3);
  std::abort();
}

class File {
 public:
  File(const World& world, const std::string& path, MPI_Info hints) : world_(world) {
    if (MPI_File_open(world.comm, path.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, hints,
                      &file_) != MPI_SUCCESS)
      give_up(world, path.c_str());
  }
  ~File() { MPI_File_close(&file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void view(MPI_Datatype etype, MPI_Datatype filetype) {
    MPI_File_set_view(file_, 0, etype, filetype, "native", MPI_INFO_NULL);
  }
  void empty() { MPI_File_set_size(file_, 0); }
  void must(int code, const char* what) const {
    if (code != MPI_SUCCESS) give_up(world_, what);
  }
  [[nodiscard]] MPI_File handle() const { return file_; }

 private:
  const World& world_;
  MPI_File file_ = MPI_FILE_NULL;
};

// Times `once` alone, after `before` and a barrier.
template <class Before, class Once>
bench::Repeat timed(const World& world, Before before, Once once) {
  return [&world, before, once](int iterations) {
    double seconds = 0;
    for (int i = 0; i < iterations; ++i) {
      before();
      bench::barrier(world);
      const double start = MPI_Wtime();
      once();
      seconds += MPI_Wtime() - start;
    }
    return seconds;
  };
}

class Rows {
 public:
  Rows(const World& world, const Options& options, bench::Report& report)
      : world_(world), options_(options), report_(report) {}

  void add(const char* label, std::size_t bytes, const bench::Repeat& repeat) {
    const bench::Plan plan = bench::agree_on_plan(world_, options_, repeat);
    std::vector<double> samples = bench::measure(world_, plan, repeat);
    for (double& sample : samples) sample *= 1e6 / plan.iterations;
    samples = bench::combine(world_, std::move(samples), world_.size, bench::Combine::kMax);
    if (world_.rank != 0) return;
    const bench::Statistics times = bench::summarise(samples, true);
    bench::add_row(report_,
                   {label, bytes, plan.iterations, times, {{"GB/s", static_cast<double>(bytes) / times.median * 1e-3}}},
                   bench::prints_table(world_, options_));
  }

 private:
  const World& world_;
  const Options& options_;
  bench::Report& report_;
};

void array_rows(const World& world, const Options& options, const std::string& path, MPI_Info hints, const Array& array,
                Buffer& buffer, Rows& rows) {
  File file(world, path, hints);
  file.view(MPI_DOUBLE, array.filetype);
  std::vector<double> values(static_cast<std::size_t>(array.elements()));
  for (int i = 0; i < array.elements(); ++i) values[static_cast<std::size_t>(i)] = array.value(i);
  buffer.write(values.data(), values.size() * sizeof(double));
  rows.add("array write", array.bytes(),
           timed(
               world, [&] { file.empty(); },
               [&] {
                 file.must(MPI_File_write_at_all(file.handle(), 0, buffer.data(), array.elements(), MPI_DOUBLE,
                                                 MPI_STATUS_IGNORE),
                           "MPI_File_write_at_all");
               }));
  std::vector<double> found(values.size(), -1.0);
  buffer.write(found.data(), found.size() * sizeof(double));
  rows.add("array read", array.bytes(),
           timed(
               world, [] {},
               [&] {
                 file.must(MPI_File_read_at_all(file.handle(), 0, buffer.data(), array.elements(), MPI_DOUBLE,
                                                MPI_STATUS_IGNORE),
                           "MPI_File_read_at_all");
               }));
  buffer.read(found.data(), found.size() * sizeof(double));
  if (options.validate && found != values) give_up(world, "what was read is not what was written: the array");
}

void run_rows(const World& world, const std::string& path, MPI_Info hints, std::size_t bytes, Buffer& buffer,
              Rows& rows) {
  File file(world, path, hints);
  const std::size_t each = bytes / static_cast<std::size_t>(world.size);
  const MPI_Offset mine = static_cast<MPI_Offset>(each) * world.rank;
  rows.add("runs write", each * static_cast<std::size_t>(world.size),
           timed(
               world, [&] { file.empty(); },
               [&] {
                 file.must(MPI_File_write_at(file.handle(), mine, buffer.data(), static_cast<int>(each), MPI_BYTE,
                                             MPI_STATUS_IGNORE),
                           "MPI_File_write_at");
               }));
  rows.add("runs read", each * static_cast<std::size_t>(world.size),
           timed(
               world, [] {},
               [&] {
                 file.must(MPI_File_read_at(file.handle(), mine, buffer.data(), static_cast<int>(each), MPI_BYTE,
                                            MPI_STATUS_IGNORE),
                           "MPI_File_read_at");
               }));
}

// Measures a limit without MPI: rank 0 transfers everything while the other ranks wait.
void posix_rows(const World& world, const std::string& path, std::size_t bytes, std::vector<char>& memory, Rows& rows) {
  const int file = world.rank == 0 ? ::open(path.c_str(), O_RDWR | O_CREAT, 0600) : -1;
  if (world.rank == 0 && file < 0) give_up(world, path.c_str());
  const auto all = [&](auto move, const char* what) {
    if (world.rank != 0) return;
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t moved = move(file, memory.data(), std::min(memory.size(), bytes - done), static_cast<off_t>(done));
      if (moved <= 0) give_up(world, what);
      done += static_cast<std::size_t>(moved);
    }
  };
  const auto empty = [&] {
    if (world.rank == 0 && ::ftruncate(file, 0) != 0) give_up(world, "ftruncate");
  };
  rows.add("one write", bytes, timed(world, empty, [&] { all(::pwrite, "write"); }));
  rows.add("one read", bytes, timed(world, [] {}, [&] { all(::pread, "read"); }));
  if (world.rank == 0) ::close(file), ::unlink(path.c_str());
}

int run_all(const bench::Program& program, const World& world, const Options& options, Choice choice) {
  const bench::MemoryKind kind = bench::memory_of(program, world, options);
  bench::Report report = bench::make_report(program, world, options);
  report.unit = "us";
  report.settings.emplace_back("directory", choice.directory);
  if (!choice.hint_list.empty()) report.settings.emplace_back("hints", choice.hint_list);
  if (bench::prints_table(world, options)) bench::print_heading(report);
  Rows rows(world, options, report);
  int number = static_cast<int>(::getpid());
  MPI_Bcast(&number, 1, MPI_INT, 0, world.comm);
  MPI_Info_create(&choice.hints);
  for (const std::string& hint : bench::split(choice.hint_list)) {
    const std::size_t equals = hint.find('=');
    if (equals != std::string::npos)
      MPI_Info_set(choice.hints, hint.substr(0, equals).c_str(), hint.substr(equals + 1).c_str());
  }
  const std::string path = choice.directory + "/headrace.bench." + std::to_string(number);
  for (const std::size_t asked : options.sizes) {
    const Array array(world, asked);
    const std::size_t each = array.bytes() / static_cast<std::size_t>(world.size);
    Buffer buffer;
    bench::allocate(program, world, kind, std::max(each, static_cast<std::size_t>(array.elements()) * 8), buffer);
    array_rows(world, options, path, choice.hints, array, buffer, rows);
    run_rows(world, path, choice.hints, array.bytes(), buffer, rows);
    if (!choice.posix) continue;
    std::vector<char> memory(world.rank == 0 ? std::max<std::size_t>(each, 1) : 0, 'x');
    posix_rows(world, path, array.bytes(), memory, rows);
  }
  MPI_Info_free(&choice.hints);
  return bench::finish(program, world, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.sizes = {std::size_t{1} << 20, std::size_t{64} << 20};
  options.repetitions = 5;
  Choice choice;
  const char* const directory = std::getenv("TMPDIR");
  choice.directory = directory != nullptr ? directory : "/tmp";
  bench::OptionTable table = bench::common_options(options);
  table.add("--directory", "PATH", "where the files are made (TMPDIR, else /tmp)", [&choice](const std::string& v) {
    choice.directory = v;
    return !v.empty();
  });
  table.add("--hints", "K=V,...", "info of the files", [&choice](const std::string& v) {
    choice.hint_list = v;
    return true;
  });
  table.add("--no-limit", "", "do not measure what one process takes without MPI", [&choice](const std::string&) {
    choice.posix = false;
    return true;
  });
  const bench::Program program{"files", "The time to write and read a file by all ranks.", "N"};
  return bench::run_program(argc, argv, program, table, options,
                            [&](const World& world) { return run_all(program, world, options, choice); });
}
