// Runs one pattern from the initial fields to the validated result.
#pragma once

#include <memory>
#include <string>

#include "options.hpp"
#include "pattern.hpp"

namespace halo3d {

// Result of a run; the same on all ranks except for `difference`.
struct Result {
  std::string name;
  int step = 0;            // number in the published series
  double seconds = 0;      // time of all steps on the slowest rank, without validation
  double alone = 0;        // time of the same updates without the exchange; 0: not measured
  Times times;             // mean over the ranks for all steps; messages and bytes are per step
  bool valid = false;      // true if every rank's result is valid and all profiles are equal
  std::string difference;  // first difference found on this rank
  std::string md5;         // hash of the profiles; "differ" if the ranks' hashes differ
};

// Collective over the decomposition's communicator. `backend` is used for this run only.
Result run_pattern(const PatternRecord& record, const Options& options, const Decomposition& decomposition,
                   Backend& backend);

}  // namespace halo3d
