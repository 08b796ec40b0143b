// Hosts that a resource manager has allocated to the job in which mpiexec runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "words/host_list.hpp"

namespace hr::launcher {

struct Allocation {
  std::string origin;  // "Slurm job 12", "PBS_NODEFILE=..."; empty if there is none
  bool is_slurm = false;
  std::vector<HostSlots> hosts;
};

// Reads SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE, or PBS_NODEFILE.
Status read_allocation(Allocation* allocation);

// Expands Slurm's "n[1-3,07],m2" to n1, n2, n3, n07, m2. False if the string does not have that form.
bool expand_node_list(std::string_view list, std::vector<std::string>* names);
// Expands Slurm's "2(x3),1" to 2, 2, 2, 1. False if the string does not have that form.
bool expand_counts(std::string_view list, std::vector<int>* counts);

}  // namespace hr::launcher
