// What a job may leave behind, and its removal.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace hr::launcher {

// Kills every process that was handed to us when its parent died (we are the subreaper of the job), until none is left
// but the spared, or a second has passed.
void kill_orphans(const std::set<pid_t>& spared);

// Removes <directory>/headrace.<job>* in each directory.
void remove_shared_memory(const std::set<std::string>& directories, const std::string& job);

}  // namespace hr::launcher
