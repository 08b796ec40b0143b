// The environment of ranks: mpiexec's, sent to the other hosts, completed by variables that only a host itself knows.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace hr::launcher {

// Returns the variables that a program inherits from mpiexec, without those of an outer launcher, plus the given ones;
// "NAME=VALUE" each.
std::vector<std::string> make_environment(const Inherited& inherited, const std::vector<Variable>& variables);

// Adapts it to the host where the ranks run: the library's folder at the end of LD_LIBRARY_PATH (empty: none), and on
// hosts other than mpiexec's the local values of variables that describe a host (HOSTNAME, SSH_CONNECTION).
std::vector<std::string> environment_here(const std::vector<std::string>& environment,
                                          const std::string& library_folder, bool is_root);

}  // namespace hr::launcher
