// Options of a run. Filled in once from the command line, the same on all ranks, and read-only afterwards.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace halo3d {

enum class DeviceChoice { kAuto, kHost, kCuda };

struct Options {
  std::vector<std::string> patterns = {"all"};  // names or "stepN"; "all": all that the device supports
  DeviceChoice device = DeviceChoice::kAuto;
  std::array<int, 3> size = {0, 0, 0};      // points of the whole domain; 0: local * procs
  std::array<int, 3> local = {48, 48, 48};  // points per rank, if size is not given
  std::array<int, 3> procs = {0, 0, 0};     // 0: MPI_Dims_create
  int steps = 100;
  int check_every = 0;  // steps between validations; 0: only at the end
  bool reverse = false;
  bool double_precision = false;
  bool identity_check = true;  // first verify each pattern on a field whose elements all differ
  bool baseline = false;       // also measure the same steps without the exchange
  std::string profiles;        // directory for the profiles; empty: not written
  std::string json;            // file for the results; empty: none
  bool list = false;
};

enum class ParseResult { kRun, kHelp, kError };

// On kError, `message` names the argument and what is wrong with it.
[[nodiscard]] ParseResult parse(int argc, char** argv, Options& options, std::string& message);
const char* usage();

}  // namespace halo3d
