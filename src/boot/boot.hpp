// boot: who am I, who are the others, and a key-value exchange with them before any transport exists.
//
// A provider (pmi1.cpp, singleton.cpp; later pmi2, pmix) is one file with one registration record; the first
// whose detect() answers yes is used. Owner: one Boot a process, from init() to finalize(). Threads: library lock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::boot {

struct Identity {
  int rank = 0;
  int size = 1;
  int appnum = 0;
  int universe_size = -1;         // -1: unknown
  std::string job_id;             // unique on this node among running jobs; safe in a file name
  std::vector<int> node_of_rank;  // node index of each rank, 0-based; ranks with equal entries share memory
  bool has_launcher = false;      // false: singleton
  // Processes of the job that share this machine's cores: as many as on this node, but where one machine is declared
  // to be several hosts (mpiexec --as-hosts).
  int processes_here = 0;
};

// Finds the provider, connects, fills the identity. Errors: MPI_ERR_OTHER with the cause and the provider's name.
Status init();
const Identity& identity() noexcept;

// Key-value exchange (keys and values: printable, no '=' ';' or white space; up to 1,000 characters).
// put() is visible to everyone after both have returned from fence().
Status put(std::string_view key, std::string_view value);
Status get(std::string_view key, std::string* value);
// Collective over the job; blocks.
Status fence();
// The same in two steps, for who must go on making progress meanwhile. No other call of these until it is done.
Status begin_fence();
Status fence_done(bool* done);

// What the first process of each node tells the others of it, with one question to the launcher for all of it: tell()
// before the first fence, told() after it. What has not been told is empty. tell() has no effect on other processes.
void tell(std::string_view key, std::string_view value);
Status told(std::string_view key, std::string* value);

// Says good-bye to the launcher. After this a death of the process is not an error any more.
Status finalize();
// Asks the launcher to show where this process is, which crashes by this signal, and waits for that. False: nobody
// shows it. For signal handlers: system calls only.
bool show_stack(int signal) noexcept;
// Tells the launcher to end the job with this exit code (0, which a job that gave up must not have, becomes 1), then
// exits the process. Never returns.
[[noreturn]] void abort(int exit_code, std::string_view message);

}  // namespace hr::boot
