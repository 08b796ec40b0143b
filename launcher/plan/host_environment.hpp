// The environment of ranks: the environment of mpiexec, sent to the other hosts and completed there with values that
// only the host knows.
#pragma once

#include <string>
#include <vector>

#include "words/options.hpp"

namespace hr::launcher {

// Returns the variables that a program inherits from mpiexec, excluding those of an outer launcher, plus the given
// ones; "NAME=VALUE" each.
std::vector<std::string> make_environment(const Inherited& inherited, const std::vector<Variable>& variables);

// Adapts `environment` to the host on which the ranks run: appends the library's folder (empty: none) to
// LD_LIBRARY_PATH, and on hosts other than mpiexec's gives variables that describe a host (HOSTNAME, SSH_CONNECTION)
// their local values.
std::vector<std::string> environment_here(const std::vector<std::string>& environment,
                                          const std::string& library_folder, bool is_root);

}  // namespace hr::launcher
