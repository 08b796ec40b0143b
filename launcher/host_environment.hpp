// The environment of ranks: mpiexec's, sent to the other hosts, with what only a host itself can know.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace hr::launcher {

// What a program inherits of mpiexec's environment, without what an outer launcher left there, plus the variables;
// "NAME=VALUE" each.
std::vector<std::string> make_environment(const Inherited& inherited, const std::vector<Variable>& variables);

// The same on the host where the ranks run: the library's folder at the end of LD_LIBRARY_PATH (empty: none), and on
// other hosts than mpiexec's variables that are about a host (HOSTNAME, SSH_CONNECTION) as they are there.
std::vector<std::string> environment_here(const std::vector<std::string>& environment,
                                          const std::string& library_folder, bool is_root);

}  // namespace hr::launcher
