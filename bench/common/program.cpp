#include "common/program.hpp"

#include <cstdio>
#include <cstdlib>

#include "gpu.hpp"

namespace bench {
namespace {

std::string usage(const Program& program, const OptionTable& table) {
  return std::string("usage: mpiexec -n ") + program.ranks + ' ' + program.name + " [options]\n" + program.sentence +
         '\n' + table.help() +
         (program.even_ranks ? "An even number of ranks makes size/2 pairs, rank r with r + size/2.\n" : "");
}

// Makes MPI treat this as a program that uses CUDA: creates a context, and passes MPI a device pointer.
void use_cuda(const World& world) {
  Buffer buffer;
  if (!buffer.allocate(MemoryKind::kCuda, 4096)) return;
  MPI_Sendrecv_replace(buffer.data(), 4096, MPI_BYTE, world.rank ^ 1, 1, world.rank ^ 1, 1, world.comm,
                       MPI_STATUS_IGNORE);
}

}  // namespace

int run_program(int argc, char** argv, const Program& program, const OptionTable& table, Options& options,
                const std::function<int(const World&)>& body) {
  int initialized = 0, provided = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    MPI_Init_thread(&argc, &argv, program.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  }
  gpu::fatal_exit = [] { MPI_Abort(MPI_COMM_WORLD, 3); };
  int status = 0;
  {
    const World world;
    std::string message;
    ParseResult parsed = table.parse(argc, argv, message);
    if (parsed == ParseResult::kRun && (!complete(options, message) || (program.check && !program.check(message)))) {
      parsed = ParseResult::kError;
    }
    if (parsed == ParseResult::kRun && program.host_alone && (uses_devices(options) || options.cuda_in_use)) {
      message = "measures host memory alone: --mem and --cuda-in-use do not apply";
      parsed = ParseResult::kError;
    }
    if (parsed == ParseResult::kRun && program.even_ranks && world.size % 2 != 0) {
      message = "runs on an even number of ranks, not " + std::to_string(world.size);
      parsed = ParseResult::kError;
    }
    if (parsed == ParseResult::kRun && options.cores_apart && world.size != 2) {
      message = "--cores-apart is for 2 ranks, not " + std::to_string(world.size);
      parsed = ParseResult::kError;
    }
    if (parsed == ParseResult::kHelp && world.rank == 0) std::fputs(usage(program, table).c_str(), stdout);
    if (parsed == ParseResult::kError && world.rank == 0) {
      std::fprintf(stderr, "%s: %s\n%s", program.name, message.c_str(), usage(program, table).c_str());
    }
    if (parsed == ParseResult::kError) status = 2;
    if (parsed == ParseResult::kRun) status = body(world);
  }
  MPI_Finalize();
  return status;
}

MemoryKind memory_of(const Program& program, const World& world, const Options& options) {
  const MemoryKind kind = options.memory[world.half()];
  if (!uses_devices(options) && !options.cuda_in_use) return kind;
  const int local_rank = node_local_rank(world);
  std::string reason;
  if ((kind != MemoryKind::kHost || options.cuda_in_use) && !prepare_device(local_rank, reason)) {
    std::fprintf(stderr, "%s: rank %d: %s: %s\n", program.name, world.rank,
                 options.cuda_in_use ? "--cuda-in-use" : (std::string("--mem ") + memory_name(kind)).c_str(),
                 reason.c_str());
    MPI_Abort(world.comm, 3);
  }
  if (options.cuda_in_use && world.size % 2 == 0) use_cuda(world);
  return kind;
}

void allocate(const Program& program, const World& world, MemoryKind kind, std::size_t bytes, Buffer& buffer) {
  if (buffer.allocate(kind, bytes)) return;
  std::fprintf(stderr, "%s: rank %d: no memory for a %s buffer of %zu bytes\n", program.name, world.rank,
               memory_name(kind), bytes);
  MPI_Abort(world.comm, 3);
}

Report make_report(const Program& program, const World& world, const Options& options) {
  Report report;
  report.name = program.name;
  report.library = library_version();
  report.ranks = world.size;
  report.memory[0] = memory_name(options.memory[0]);
  report.memory[1] = memory_name(options.memory[1]);
  report.validated = options.validate;
  report.cpus = gather_text(world, allowed_cpus());
  if (options.cuda_in_use) report.settings.emplace_back("cuda", "in use");
  if (options.cores_apart) {
    const auto text = [](double value) { return std::to_string(static_cast<int>(value)); };
    report.settings.emplace_back("cores_apart",
                                 text(options.cores_apart.least) + '-' + text(options.cores_apart.most) + " ns");
  }
  if (options.touch) report.settings.emplace_back("buffers", "touched");
  return report;
}

bool prints_table(const World& world, const Options& options) { return world.rank == 0 && options.json != "-"; }

void add_row(Report& report, Row row, bool print) {
  if (print) print_row(row, report.rows.empty());
  report.rows.push_back(std::move(row));
}

int finish(const Program& program, const World& world, const Options& options, const Report& report) {
  if (world.rank != 0 || options.json.empty() || write_json(report, options.json)) return 0;
  std::fprintf(stderr, "%s: cannot write %s\n", program.name, options.json.c_str());
  return 1;
}

}  // namespace bench
