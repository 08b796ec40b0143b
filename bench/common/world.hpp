// The ranks of a run, and the messages that the framework itself needs.
//
// Except for node_local_rank(), these functions use only point-to-point messages in host memory, so that a library can
// be measured before its collectives exist. None of them is part of a measured time.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

struct World {
  World();  // describes MPI_COMM_WORLD; MPI must be initialized

  int rank = 0, size = 0;
  MPI_Comm comm = MPI_COMM_WORLD;

  // Rank r of the lower half is paired with r + size/2.
  int pairs() const { return size / 2; }
  bool lower() const { return rank < pairs(); }
  int peer() const { return lower() ? rank + pairs() : rank - pairs(); }
  int half() const { return lower() || size == 1 ? 0 : 1; }
};

void barrier(const World& world);
// Returns the `value` of rank 0 on all ranks.
int from_root(const World& world, int value);
// Returns every rank's text on rank 0, and an empty list on other ranks.
std::vector<std::string> gather_text(const World& world, const std::string& mine);
int node_local_rank(const World& world);

// Returns the cores that this process may run on, such as "0" or "0-1,4".
std::string allowed_cpus();
// Returns the first line of MPI_Get_library_version.
std::string library_version();

enum class Combine { kMean, kSum, kMax };
// Combines the samples of ranks 0 to `ranks` - 1, lists of equal length, into one list on rank 0. Returns `samples`
// unchanged on other ranks.
std::vector<double> combine(const World& world, std::vector<double> samples, int ranks, Combine how);

}  // namespace bench
