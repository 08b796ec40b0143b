// diffusion2d: computes heat on a grid split into strips. There are three ways to exchange edge rows; the last one is
// the best. Every point is checked.
//
// Exit codes: 0 all valid; 1 a result is wrong; 2 bad arguments; 3 a resource is missing.
#include <mpi.h>

#include <cstdio>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "report.hpp"

namespace diffusion2d {
namespace {

int node_local_rank() {
  MPI_Comm node;
  int rank = 0, world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

// True if every rank has taken a GPU; always false with --device host. `reason`: why this rank has none, or that
// another rank has none.
bool take_gpus(const Options& options, std::string& reason) {
  if (options.device == DeviceChoice::kHost) return false;
  int taken = take_gpu(options, node_local_rank(), reason) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (taken == 0 && reason.empty()) reason = "another rank has no usable GPU; --device host does without";
  return taken != 0;
}

// Returns 0 if the product overflows an int.
int weak_rows(int rows, int ranks) { return rows > std::numeric_limits<int>::max() / ranks ? 0 : rows * ranks; }

std::vector<Case> cases_of(const Options& options, int ranks) {
  if (options.scaling == Scaling::kNone) return {{"", ranks, options.nx, options.ny}};
  std::vector<int> counts;
  for (int count = 1; count < ranks; count *= 2) counts.push_back(count);
  counts.push_back(ranks);
  std::vector<Case> cases;
  for (const int count : counts) {
    if (options.scaling != Scaling::kWeak) cases.push_back({"strong", count, options.nx, options.ny});
  }
  for (const int count : counts) {
    if (options.scaling != Scaling::kStrong) cases.push_back({"weak", count, options.nx, weak_rows(options.ny, count)});
  }
  return cases;
}

bool possible(const std::vector<Case>& cases, int steps, std::string& message) {
  for (const Case& what : cases) {
    if (what.ny == 0) {
      message = "--grid: with --scaling weak " + std::to_string(what.ranks) +
                " times the rows are more than 2^31; fewer rows would do";
      return false;
    }
    if (!divides(what.ny, what.ranks, message)) return false;
    const int most = Solution::most_steps(what.nx, what.ny);
    if (steps > most) {
      message = "--steps: after " + std::to_string(steps) + " steps a grid of " + std::to_string(what.nx) + " x " +
                std::to_string(what.ny) + " points has no heat left to compare; at most " + std::to_string(most) +
                " would do, or a larger --grid";
      return false;
    }
  }
  return true;
}

// True if results on equal grids are bitwise identical for all variants and numbers of ranks.
bool alike(const std::vector<Result>& results) {
  for (const Result& a : results) {
    for (const Result& b : results) {
      if (a.what.ny == b.what.ny && a.verdict.checksum != b.verdict.checksum) {
        std::fprintf(stderr, "diffusion2d: %s on %d ranks and %s on %d end with different bits\n", a.variant->name,
                     a.what.ranks, b.variant->name, b.what.ranks);
        return false;
      }
    }
  }
  return true;
}

// Runs all variants on the case's ranks. On the other ranks, waits for these ranks and returns an empty list.
std::vector<Result> run_variants(const Case& what, const std::vector<const VariantRecord*>& variants, int steps,
                                 const MakeBackend& make) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank < what.ranks ? 0 : MPI_UNDEFINED, rank, &comm);
  std::vector<Result> results;
  if (comm != MPI_COMM_NULL) {
    for (const VariantRecord* variant : variants) results.push_back(run_case(what, *variant, steps, comm, make));
    MPI_Comm_free(&comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return results;
}

int run_all(const Options& options, bool speak) {
  std::string message;
  const auto complain = [&](int status) {
    if (speak) std::fprintf(stderr, "diffusion2d: %s\n", message.c_str());
    return status;
  };
  const std::vector<const VariantRecord*> variants = find_variants(options.variants, message);
  if (variants.empty()) return complain(2);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<Case> cases = cases_of(options, ranks);
  if (!possible(cases, options.steps, message)) return complain(2);
  std::string reason;
  const bool on_gpu = take_gpus(options, reason);
  if (!on_gpu && options.device == DeviceChoice::kCuda) {
    message = "--device: " + reason;
    return complain(3);
  }

  const std::string device = on_gpu ? gpu_name() : "host";
  const MakeBackend make = on_gpu ? make_cuda_backend : make_host_backend;
  if (speak) print_heading(options, ranks, device);
  std::vector<Result> results;
  for (const Case& what : cases) {
    for (Result& result : run_variants(what, variants, options.steps, make)) results.push_back(std::move(result));
  }
  int valid = 1;
  if (speak) {
    print_table(results, options.steps);
    for (const Result& result : results) valid = valid != 0 && result.verdict.valid ? 1 : 0;
    valid = alike(results) && valid != 0 ? 1 : 0;
  }
  MPI_Bcast(&valid, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (speak && !options.json.empty() && !write_json(options, ranks, device, results)) {
    message = "cannot write " + options.json;
    return complain(3);
  }
  return valid != 0 ? 0 : 1;
}

int parse_and_run(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Options options;
  std::string message;
  const command_line::OptionTable table = option_table(options);
  switch (table.parse(argc, argv, message)) {
    case command_line::ParseResult::kHelp:
      if (rank == 0) std::fputs(usage(table).c_str(), stdout);
      return 0;
    case command_line::ParseResult::kError:
      if (rank == 0) std::fprintf(stderr, "diffusion2d: %s\n", message.c_str());
      return 2;
    case command_line::ParseResult::kRun:
      break;
  }
  if (options.list) {
    if (rank == 0) print_variants();
    return 0;
  }
  return run_all(options, rank == 0);
}

}  // namespace
}  // namespace diffusion2d

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 3;
  try {
    status = diffusion2d::parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "diffusion2d: there is not enough memory for this grid; a smaller --grid or more ranks would do\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return status;
}
