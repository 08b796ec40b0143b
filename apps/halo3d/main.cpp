// halo3d: exchanges the halos of three fields in a periodic box with every common pattern, and validates every bit.
//
// Exit codes: 0 all valid; 1 a validation failed; 2 bad arguments; 3 a resource is missing; 4 the GPUs cannot execute a
// pattern.
#include <mpi.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "report.hpp"

namespace halo3d {
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

bool all_ranks(bool mine) {
  int all = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

// Creates backends; usable() is false, with the reason, if a rank has no GPU for --device cuda.
class Backends {
 public:
  Backends(const Shape& shape, DeviceChoice choice) : shape_(shape), local_rank_(node_local_rank()) {
    if (choice == DeviceChoice::kHost) return;
    on_device_ = all_ranks(make_cuda_backend(shape_, local_rank_, reason_) != nullptr);
    if (!on_device_ && reason_.empty()) reason_ = "another rank has no usable GPU";
    usable_ = on_device_ || choice == DeviceChoice::kAuto;
  }
  bool usable() const { return usable_; }
  bool on_device() const { return on_device_; }
  const std::string& reason() const { return reason_; }
  std::unique_ptr<Backend> make() const {
    std::string ignored;
    return on_device_ ? make_cuda_backend(shape_, local_rank_, ignored) : make_host_backend(shape_);
  }

 private:
  Shape shape_;
  int local_rank_;
  bool on_device_ = false, usable_ = true;
  std::string reason_;
};

// Finds the records of the patterns that --pattern names. Returns 0, or an exit code with a message if one does not
// exist or is not possible.
int choose_patterns(const Options& options, bool on_device, std::vector<const PatternRecord*>& chosen,
                    std::string& message) {
  const auto possible = [](const PatternRecord& record) { return !record.captured || graphs_hold_messages(); };
  for (const std::string& name : options.patterns) {
    if (name == "all") {
      for (const PatternRecord* record : all_patterns()) {
        if (record->step(on_device) != kNone && possible(*record)) chosen.push_back(record);
      }
      continue;
    }
    const PatternRecord* const record = find_pattern(name, on_device);
    if (record == nullptr) {
      message = "there is no pattern '" + name + "' on " + (on_device ? "cuda" : "the host") + "; see --list";
      return 2;
    }
    if (!possible(*record)) {
      message = "pattern '" + name + "': graphs of AMD GPUs cannot hold messages; use pattern 'streams'";
      return 4;
    }
    chosen.push_back(record);
  }
  return 0;
}

int run_all(const Options& options, bool speak) {
  std::string message;
  const auto complain = [&](int status) {
    if (speak) std::fprintf(stderr, "halo3d: %s\n", message.c_str());
    return status;
  };
  Decomposition decomposition;
  if (!decomposition.create(options, message)) return complain(2);
  const Backends backends(decomposition.shape(), options.device);
  if (!backends.usable()) {
    message = "--device cuda: " + backends.reason();
    return complain(3);
  }
  std::vector<const PatternRecord*> patterns;
  if (const int status = choose_patterns(options, backends.on_device(), patterns, message); status != 0)
    return complain(status);

  const std::string device = backends.on_device() ? "cuda" : "host";
  if (speak) print_heading(options, decomposition, device);
  std::vector<Result> results;
  bool valid = true;
  for (const PatternRecord* record : patterns) {
    const std::unique_ptr<Backend> backend = backends.make();
    Result result = run_pattern(*record, options, decomposition, *backend);
    if (!result.difference.empty()) {
      std::fprintf(stderr, "halo3d: pattern %s: %s\n", record->name, result.difference.c_str());
    }
    valid = valid && result.valid && (results.empty() || results[0].md5 == result.md5);
    if (speak && patterns.size() == 1) print_details(result, options, decomposition);
    results.push_back(std::move(result));
  }
  if (speak && patterns.size() > 1) print_table(results);
  if (speak && valid) std::printf("validated: every element of every field is where it must be, bit for bit\n");
  if (speak && !options.json.empty() && !write_json(options.json, results, options, decomposition, device)) {
    std::fprintf(stderr, "halo3d: cannot write %s\n", options.json.c_str());
    return 3;
  }
  return valid ? 0 : 1;
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
      if (rank == 0) std::fprintf(stderr, "halo3d: %s\n%s", message.c_str(), usage(table).c_str());
      return 2;
    case command_line::ParseResult::kRun:
      break;
  }
  if (options.list) {
    if (rank == 0) print_patterns();
    return 0;
  }
  return run_all(options, rank == 0);
}

}  // namespace
}  // namespace halo3d

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = halo3d::parse_and_run(argc, argv);
  MPI_Finalize();
  return status;
}
