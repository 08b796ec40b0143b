// Spawning and publishing: services of the launcher for a running job (MPI 5.0 sections 11.8 and 11.9.4).
//
// Available under Headrace's mpiexec and other launchers that speak PMI-1; a process that was started without a
// launcher gets a private mpiexec on the first request (own_launcher.hpp). With other launchers, the calls return
// MPI_ERR_SPAWN or MPI_ERR_SERVICE, with advice.
//
// Threads: library lock. A spawn spans several calls, between which the lock may be released and other threads may make
// any of these requests.
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
  std::vector<std::pair<std::string, std::string>> info;  // hints, as passed by the program
};

// A job that this process has requested; owned by the caller of spawn_done().
struct SpawnedJob {
  std::string id;            // the launcher's name for the job; empty if it refused, or names no jobs
  std::vector<int> refused;  // ranks that the launcher could not start; empty if it started all, or does not name them
};

// Start the programs as one job, whose processes get `parent` from parent_port(). The start has two steps, so that the
// caller can make progress in between. Errors: MPI_ERR_SPAWN with the launcher's reason; then no process of the job is
// left running. The launcher answers one spawn at a time: the caller waits until spawn_pending() is false before it
// begins, and calls end_spawn() once for each begin_spawn() that has succeeded, after all other calls for that job.
[[nodiscard]] bool spawn_pending();
Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent);
Status spawn_done(bool* done, SpawnedJob* job);
void end_spawn(const SpawnedJob& job);
// Called once spawn_done() has succeeded, until one of the processes has connected to the parent's port. Errors:
// MPI_ERR_SPAWN if the processes have ended without connecting.
Status spawned_status(const SpawnedJob& job);

// Called after any process of the spawned job has failed: returns the failed ranks of that job. The list is empty if
// the launcher does not report failed ranks; all ranks then count as failed. *known: true if the list is final.
std::vector<int> spawned_failures(const SpawnedJob& job, bool* known);

// Gets, from the launcher, the string that the parent of this process's job passed to begin_spawn(); empty: this job
// was not spawned.
Status parent_port(std::string* port);

// Errors: MPI_ERR_SERVICE (published already, or the launcher does not support it), MPI_ERR_NAME (not published).
Status publish(std::string_view service, std::string_view port);
Status unpublish(std::string_view service);
Status look_up(std::string_view service, std::string* port);

}  // namespace hr::boot
