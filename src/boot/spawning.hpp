// Spawning and publishing: services of the launcher for a running job (MPI 5.0 sections 11.8 and 11.9.4).
//
// Available under our mpiexec and those that speak PMI-1; a process that was started alone gets a private mpiexec, from
// the installation, when it first asks (own_launcher.hpp). Other launchers answer MPI_ERR_SPAWN or MPI_ERR_SERVICE,
// with advice. Threads: library lock; one request at a time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace hr::boot {

struct SpawnedProgram {
  std::string command;
  std::vector<std::string> arguments;  // without the command
  int processes = 1;
  std::vector<std::pair<std::string, std::string>> info;  // as the program gave it
};

// Starts the programs as one job, whose processes get `parent` by parent_port(). In two steps, for callers that make
// progress meanwhile. Errors: MPI_ERR_SPAWN with the launcher's reason; no process of the job is left then.
Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent);
Status spawn_done(bool* done);
// Called after that, as long as none of them has come to the parent's port. Errors: MPI_ERR_SPAWN if they have ended
// without coming.
Status spawned_status();

// Called after any of them has failed: returns the failed ranks of the spawned job, as far as the launcher reports
// them. None: it does not report them, and all count as failed. *known: nothing more will come.
std::vector<int> spawned_failures(bool* known);

// Returns the text that the parent of this process's job passed on; empty: it was not spawned. Asks the launcher.
Status parent_port(std::string* port);

// Errors: MPI_ERR_SERVICE (published already, or the launcher does not do it), MPI_ERR_NAME (not published).
Status publish(std::string_view service, std::string_view port);
Status unpublish(std::string_view service);
Status look_up(std::string_view service, std::string* port);

}  // namespace hr::boot
