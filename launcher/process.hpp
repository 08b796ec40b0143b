// Starting a process: fork and exec in one step, with everything decided before.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "options.hpp"

namespace hr::launcher {

// Borrows everything for the time of the call.
struct ChildPlan {
  const char* path = nullptr;  // the file to execute
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;  // null: ours
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
  int kept = -1;  // one descriptor more that the program gets, under the same number; -1: none
  const topo::CpuSet* cpus = nullptr;
};

// The child leads a process group of its own and is killed when mpiexec dies. Returns its pid, or -1 with the errno of
// the step that failed. The caller has all signals of interest blocked; the child starts with none blocked.
pid_t start_process(const ChildPlan& plan, int* error);

// The file that a program's name stands for: as it is when it has a slash, else the first executable in PATH, else one
// in the directory. Returns 0, or the errno that says why it cannot be executed.
int find_executable(const std::string& name, const std::string& directory, std::string* path);

// What a program inherits of mpiexec's environment, without what an outer launcher left there, plus the variables, plus
// the library's folder at the end of LD_LIBRARY_PATH (empty: none); "NAME=VALUE" each.
std::vector<std::string> make_environment(const Inherited& inherited, const std::vector<Variable>& variables,
                                          const std::string& library_folder);

// The null-terminated array that exec takes; the strings must outlive it.
std::vector<char*> as_pointers(const std::vector<std::string>& strings);

// Lets this process have as many descriptors as the system allows; children get the old limit back.
void raise_descriptor_limit();

}  // namespace hr::launcher
