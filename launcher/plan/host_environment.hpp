// The environment of ranks: that of mpiexec, sent to the other hosts and completed there with values that only the host
// itself knows.
#pragma once

#include <string>
#include <vector>

#include "words/options.hpp"

namespace hr::launcher {

// Returns the variables that a program inherits from mpiexec, without those of an outer launcher, plus the given ones;
// "NAME=VALUE" each.
std::vector<std::string> make_environment(const Inherited& inherited, const std::vector<Variable>& variables);

// Adapts `environment` to the host where the ranks run: appends the library's folder (empty: none) to LD_LIBRARY_PATH,
// and on hosts other than mpiexec's gives variables that describe a host (HOSTNAME, SSH_CONNECTION) their local values.
std::vector<std::string> environment_here(const std::vector<std::string>& environment,
                                          const std::string& library_folder, bool is_root);

// Place of a rank in its job, as programs see it.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  // among the ranks of its host
  int local_ranks = 1;
  int node_rank = -1;  // among the ranks of all jobs on the host; -1: not known
};

// Returns the variables that tell a rank its place under the names of other launchers, for scripts that read these
// (PyTorch, Kokkos, choice of a GPU). Headrace itself reads none of them.
std::vector<std::string> foreign_variables(const RankPlace& place);

// Returns `environment` with the variables `own`, which replace those of the same names, and with those of `defaults`
// whose names it lacks.
std::vector<std::string> with_variables(const std::vector<std::string>& environment,
                                        const std::vector<std::string>& own, const std::vector<std::string>& defaults);

}  // namespace hr::launcher
