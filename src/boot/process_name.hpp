// Names of processes in messages to users.
#pragma once

#include <string>

#include "boot/processes.hpp"

namespace hr::boot {

// Returns "rank 3", or "rank 3 of job NAME" for a process of another job; "process 7" for a process that is not known.
[[nodiscard]] inline std::string process_name(const Processes& processes, int proc) {
  if (proc < 0 || proc >= processes.size()) return "process " + std::to_string(proc);
  std::string name = "rank " + std::to_string(processes[proc].rank);
  if (processes.is_other(proc)) name += " of job " + std::string(processes.job_of(proc));
  return name;
}

}  // namespace hr::boot
