// boot: who am I, who are the others, and a key-value exchange with them before any transport exists.
//
// A start is: each process describes itself (init(), the transports' creation: put(), node_put()), all meet in one
// exchange (fence()), and each opens what it needs of the others'. What the job must agree on (its knobs and settings)
// is there before anything is described.
//
// A provider (pmi1.cpp, pmix.cpp, singleton.cpp) is one file with one registration record; the first
// whose detect() answers yes is used. Owner: one State a process (state.hpp), from init() to finalize(), and a new one
// with the next init(). Before and after, identity() and processes() are those of a process alone. Threads: library
// lock.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "boot/processes.hpp"

namespace hr::boot {

struct Identity {
  int rank = 0;
  int size = 1;
  int appnum = 0;
  int universe_size = -1;     // -1: unknown
  std::string job_id;         // unique on this host among running jobs; safe in a file name
  bool has_launcher = false;  // false: singleton
  // Processes of the job that share this machine's cores: as many as on this host, but where one machine is declared
  // to be several hosts (mpiexec --as-hosts).
  int processes_here = 0;
  bool declared_hosts = false;  // where the processes are is what the launcher declares (mpiexec --as-hosts)
  bool one_host = false;        // all that the launcher may start is on this host
  bool keeps_files = false;     // the launcher: keep_file()
  // The job goes on without processes that die: which board tells of them here (loss_board.hpp); -1: it does not.
  int loss_board = -1;
  std::string loss_board_job;  // whose name it has: of the first program of the ranks where this is a later one
};

// What process 0 says for the whole job beside the knobs of scope job: read() is called there alone, once.
struct Setting {
  const char* name;
  std::string (*read)();
};

// Finds the provider, connects, fills the identity and the table of processes; knobs of scope job become process 0's,
// and what differed here is noted. Collective over the job. Errors: MPI_ERR_OTHER with the cause and the provider's
// name.
Status init(std::span<const Setting> settings = {});
[[nodiscard]] const Identity& identity() noexcept;
[[nodiscard]] Processes& processes() noexcept;
// What process 0 said; empty where it had nothing to say.
[[nodiscard]] const std::string& setting(std::string_view name) noexcept;

// Key-value exchange (keys and values: printable, no '=' ';' or white space; up to 1,000 characters).
// put() is visible to everyone after both have returned from fence(). `owner`: the rank that put it.
Status put(std::string_view key, std::string_view value);
Status get(int owner, std::string_view key, std::string* value);
// Collective over the job; blocks.
Status fence();
// The same in two steps, for who must go on making progress meanwhile. No other call of these until it is done.
Status begin_fence();
Status fence_done(bool* done);

// The key-value store of a host: its first process puts, before the first fence; the others get, after it, with one
// question to the launcher for all keys. What has not been put is empty. node_put() has no effect in other processes.
void node_put(std::string_view key, std::string_view value);
Status node_get(std::string_view key, std::string* value);

// Says good-bye to the launcher. After this a death of the process is not an error any more.
Status finalize();
// After finalize(): the process takes part again, with the same identity. Collective over the job. Errors:
// MPI_ERR_OTHER where the launcher takes nobody back.
Status resume();
// Has the launcher hold this file open until the job ends, where it does that (Identity::keeps_files).
void keep_file(int file) noexcept;
// Asks the launcher to show where this process is, which crashes by this signal, and waits for that. False: nobody
// shows it. For signal handlers: system calls only.
bool show_stack(int signal) noexcept;
// Tells the launcher to end the job with this exit code (0, which a job that gave up must not have, becomes 1), then
// exits the process. Never returns.
[[noreturn]] void abort(int exit_code, std::string_view message);

}  // namespace hr::boot
