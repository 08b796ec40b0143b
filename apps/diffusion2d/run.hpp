// Runs, times and checks one variant on a given number of ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "solution.hpp"
#include "variant.hpp"

namespace diffusion2d {

// A grid on the job's first `ranks` ranks.
struct Case {
  const char* scaling;  // "strong", "weak", or "" if only one number of ranks is requested
  int ranks, nx, ny;
};

struct Result {
  Case what;
  const VariantRecord* variant;
  double seconds = 0;  // time of the slowest rank
  Times times;         // mean times over the ranks
  Verdict verdict;
};

using MakeBackend = std::function<std::unique_ptr<Backend>(const Strip&)>;

// Collective over `comm`, which contains the ranks of the case.
Result run_case(const Case& what, const VariantRecord& variant, int steps, MPI_Comm comm, const MakeBackend& make);

}  // namespace diffusion2d
