// boot: the identity of this process, the table of all processes, and a key-value exchange with the others before any
// transport exists.
//
// At the start each process describes itself (with put() and node_put(), in init() and when the transports are
// created), all take part in one exchange (fence()), and each reads the data of the others that it needs. Values that
// the job must agree on (its knobs and settings) are known before processes describe themselves.
//
// A provider (pmi1.cpp, pmix.cpp, singleton.cpp) is one file with one registration record; the first whose detect()
// returns true is used. Owner: one State per process (state.hpp), from init() to finalize(), and a new one at the next
// init(). Before and after, identity() and processes() are those of a single process. Threads: library lock.
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
  // Processes of the job that share this machine's cores: the number on this host, unless one machine is declared to be
  // several hosts (mpiexec --as-hosts).
  int processes_here = 0;
  bool declared_hosts = false;  // the launcher declares the hosts of processes (mpiexec --as-hosts)
  bool one_host = false;        // true if all processes that the launcher may start are on this host
  bool keeps_files = false;     // the launcher supports keep_file()
  // If the job continues without failed processes: number of the board on this host that lists them
  // (failure_board.hpp). -1: the job does not continue.
  int failure_board = -1;
  std::string failure_board_job;  // job in the file's name; if a rank runs several programs in turn, the job of the
                                  // first one
};

// A value that process 0 sets for the whole job, in addition to the knobs of scope job: only process 0 calls read(),
// once.
struct Setting {
  const char* name;
  std::string (*read)();
};

// Finds the provider, connects, and fills the identity and the table of processes. Knobs of scope job get process 0's
// values; values that differed here are reported as notes. Collective over the job. Errors: MPI_ERR_OTHER with the
// cause and the provider's name.
Status init(std::span<const Setting> settings = {});
[[nodiscard]] const Identity& identity() noexcept;
[[nodiscard]] Processes& processes() noexcept;
// Returns process 0's value of a setting; empty if it set none.
[[nodiscard]] const std::string& setting(std::string_view name) noexcept;

// Key-value exchange (keys and values: printable characters except '=', ';' and white space; at most 1,000). A value
// is visible to a process once fence() has returned there and in the owner. `owner`: the rank that put the value.
Status put(std::string_view key, std::string_view value);
Status get(int owner, std::string_view key, std::string* value);
// Completes the exchange of the values put so far. Blocking; collective over the job.
Status fence();
// Execute fence() in two steps, for callers that must make progress meanwhile. No other exchange function may be called
// until *done is true.
Status begin_fence();
Status fence_done(bool* done);

// Key-value store of a host: its first process puts values before the first fence; the others get them afterwards, with
// one request to the launcher for all keys. A key that was not put is empty. node_put() has no effect in other
// processes.
void node_put(std::string_view key, std::string_view value);
Status node_get(std::string_view key, std::string* value);

// Disconnects from the launcher. From then on the death of this process is no longer an error.
Status finalize();
// Called after finalize(): rejoins the job with the same identity. Collective over the job. Errors: MPI_ERR_OTHER if
// the launcher does not let a process rejoin.
Status resume();
// Asks the launcher to hold this file open until the job ends, if it supports that (Identity::keeps_files).
void keep_file(int file) noexcept;
// Asks the launcher to print the call stack of this process, which is crashing with `signal`, and waits until it is
// printed. False: it is not printed. For signal handlers: makes system calls only.
bool show_stack(int signal) noexcept;
// Asks the launcher to end the job with this exit code (0 becomes 1, as an aborted job must not return 0), then exits
// the process. Never returns.
[[noreturn]] void abort(int exit_code, std::string_view message);

}  // namespace hr::boot
