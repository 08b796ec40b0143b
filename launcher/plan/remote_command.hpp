// The command that starts mpiexec as an agent on another host. Pure, except for the knob and the variables that it
// reads.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "plan/job_plan.hpp"

namespace hr::launcher {

// Reads the value of --launcher or the knob: "auto", "ssh", "rsh", "slurm", "srun", or a command with its options.
RemoteShell remote_shell(std::string_view command, bool in_slurm);

// Returns program and arguments. The command line shows nothing of the job, only the path of mpiexec and --agent.
std::vector<std::string> remote_command(const RemoteShell& shell, const std::string& host, const std::string& mpiexec,
                                        std::chrono::seconds connect_limit);

// Returns the text in single quotes, as all shells understand them.
std::string shell_quoted(std::string_view text);

}  // namespace hr::launcher
