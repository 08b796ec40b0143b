// Options of a run. Filled in once from the command line, equal on all ranks, read-only from then on.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "option_table.hpp"

namespace halo3d {

enum class DeviceChoice { kAuto, kHost, kCuda };

struct Options {
  std::vector<std::string> patterns = {"all"};  // names or "stepN"; "all": all that the device has
  DeviceChoice device = DeviceChoice::kAuto;
  std::array<int, 3> size = {0, 0, 0};      // points of the whole domain; 0: local * procs
  std::array<int, 3> local = {48, 48, 48};  // points per rank, if size is not given
  std::array<int, 3> procs = {0, 0, 0};     // 0: MPI_Dims_create
  int steps = 100;
  int check_every = 0;  // steps between validations; 0: only at the end
  bool reverse = false;
  bool double_precision = false;
  bool identity_check = true;  // first prove each pattern with a field whose elements all differ
  bool baseline = false;       // also measure the same steps without the exchange
  std::string profiles;        // directory for the profiles; empty: not written
  std::string json;            // file for the results; empty: none
  bool list = false;
};

// Returns the options, parsed into `into`.
[[nodiscard]] command_line::OptionTable option_table(Options& into);
[[nodiscard]] std::string usage(const command_line::OptionTable& table);

}  // namespace halo3d
