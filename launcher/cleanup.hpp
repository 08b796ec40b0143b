// What a job may leave behind, and its removal.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace hr::launcher {

// Kills every process that was handed to us when its parent died (we are the subreaper of the job), until none is left
// but the spared, or a second has passed.
void kill_orphans(const std::set<pid_t>& spared);

// The parent of a process; -1: there is none of that number.
[[nodiscard]] pid_t parent_of(pid_t process);

// Of this process, where the kernel lists them; else none.
[[nodiscard]] std::set<pid_t> listed_children();

// Kills every process whose environment has the text. Returns how many there were.
int kill_processes_with(const std::string& text);

// Removes <directory>/headrace.<job>* in each directory.
void remove_shared_memory(const std::set<std::string>& directories, const std::string& job);

}  // namespace hr::launcher
