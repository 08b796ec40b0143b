// Removes processes and files that may remain after a job.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>

namespace hr::launcher {

// Kills the children of this process, except those in `spared`, until none is left or a second has passed. This process
// is the subreaper of the job, so orphans of the ranks have become its children.
void kill_orphans(const std::set<pid_t>& spared);

// Returns the parent of a process; -1 if there is no such process.
[[nodiscard]] pid_t parent_of(pid_t process);

// Returns a text that identifies a file by its device and inode; empty if the file does not exist.
[[nodiscard]] std::string identity_of_file(const std::string& path);
// Returns such a text for the file that a process executes; empty if the process has ended, or may not be examined.
[[nodiscard]] std::string program_file_of(pid_t process);

// Calls visit(pid) for every other process whose environment contains both texts.
void for_each_process_with(const std::string& one, const std::string& other, const std::function<void(pid_t)>& visit);

// Returns the children of this process; empty if the kernel does not list them.
[[nodiscard]] std::set<pid_t> listed_children();

// Kills every process whose environment contains `text`. Returns their number.
int kill_processes_with(const std::string& text);

// Removes <directory>/headrace.<job>* in each directory.
void remove_shared_memory(const std::set<std::string>& directories, const std::string& job);

}  // namespace hr::launcher
