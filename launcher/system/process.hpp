// Starts a process: fork and exec in one step, after all decisions have been made.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "topo/cpu_set.hpp"

namespace hr::launcher {

// All members are borrowed for the duration of the call.
struct ChildPlan {
  const char* path = nullptr;  // the file to execute
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;  // null: this process's directory
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
  int kept = -1;  // an additional descriptor for the program, under the same number; -1: none
  const topo::CpuSet* cpus = nullptr;
};

// Starts a child, which leads its own process group and is killed when mpiexec dies. Returns its pid, or -1 with the
// errno of the step that failed. The caller has all signals of interest blocked; the child starts with none blocked,
// and ignores only those for which stays_ignored() is true (signals.hpp).
pid_t start_process(const ChildPlan& plan, int* error);

// Finds the file of a program, given its name: the name itself if it has a slash, else the first executable in the
// search path (PATH), else one in the directory. Returns 0, or the errno that explains why the program cannot be
// executed.
int find_executable(const std::string& name, const std::string& directory, std::string_view search_path,
                    std::string* path);

// Returns the reason why the system did not execute an existing file: the message of strerror(), and the likely cause.
std::string why_not_executed(const std::string& path, const std::string& directory, int error);

// Returns PATH of this process, or its default.
std::string own_search_path();

// Returns the null-terminated array that exec expects; the strings must outlive it.
std::vector<char*> as_pointers(const std::vector<std::string>& strings);

// Lets this process open as many descriptors as the system allows; children start with the old limit.
void raise_descriptor_limit();

}  // namespace hr::launcher
