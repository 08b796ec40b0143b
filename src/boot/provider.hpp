// A provider: one way of being started. One file with one record for each; provider_list.cpp lists them in the order
// asked.
//
// Owner: boot.cpp holds the chosen one, from init() to finalize(). Threads: library lock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "boot/boot.hpp"
#include "boot/spawning.hpp"

namespace hr::boot {

class Provider {
 public:
  virtual ~Provider() = default;
  // Fills the identity (processes_here if the launcher says), and a host number for each rank if the launcher declares
  // it, whatever the processes may find (mpiexec --as-hosts); else *hosts is left empty.
  virtual Status connect(Identity* identity, std::vector<int>* hosts) = 0;
  // Called after connect(): true if job_id is unique among the running jobs of a host.
  [[nodiscard]] virtual bool names_jobs() const noexcept { return false; }
  // True if the launcher compares the processes' views of their hosts (host_view.hpp). compare_views() sends this
  // process's view, waits for all others', and returns the placement (format_hosts()).
  [[nodiscard]] virtual bool compares_views() const noexcept { return false; }
  virtual Status compare_views(std::string_view /*view*/, std::string* /*hosts*/) {
    return Errc::kUnsupportedOperation;
  }
  virtual Status put(std::string_view key, std::string_view value) = 0;
  // `owner`: the rank that put it.
  virtual Status get(int owner, std::string_view key, std::string* value) = 0;
  virtual Status fence() = 0;
  // Does the same in two steps; by default the first one blocks.
  virtual Status begin_fence() { return fence(); }
  virtual Status fence_done(bool* done) {
    *done = true;
    return kOk;
  }
  // If can_wait(), get_waiting() returns the value of a key as soon as a process has put it.
  [[nodiscard]] virtual bool can_wait() const noexcept { return false; }
  virtual Status get_waiting(std::string_view /*key*/, std::string* /*value*/) { return Errc::kUnsupportedOperation; }
  // See spawning.hpp. By default these fail with the reason that this launcher does not do it.
  virtual Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent);
  virtual Status spawn_done(bool* done);
  virtual Status spawned_status() { return kOk; }
  virtual std::vector<int> spawned_failures(bool* known) {
    *known = true;
    return {};
  }
  virtual Status parent_port(std::string* port);
  virtual Status publish(std::string_view service, std::string_view port);
  virtual Status unpublish(std::string_view service);
  virtual Status look_up(std::string_view service, std::string* port);
  virtual Status finalize() = 0;
  // Called after finalize(). can_resume(): true if the launcher takes this process back. resume() rejoins the job, with
  // keys that differ from the earlier ones; collective over the job.
  [[nodiscard]] virtual bool can_resume() const noexcept { return false; }
  virtual Status resume() { return Errc::kUnsupportedOperation; }
  // See boot.hpp; for launchers that do it. Best effort.
  virtual void keep_file(int) noexcept {}
  // See boot.hpp. Other launchers show none.
  virtual bool show_stack(int) noexcept { return false; }
  // Best effort, returns; the caller exits.
  virtual void abort(int exit_code) noexcept = 0;
};

struct ProviderRecord {
  const char* name;
  bool (*detect)() noexcept;  // pure: looks at the environment, changes nothing
  std::unique_ptr<Provider> (*create)();
};

std::span<const ProviderRecord* const> provider_list() noexcept;

// PMI-1 over a socket, to an mpiexec of ours that serves this process alone: for spawning and publishing. It begins
// with connect_to_helper().
class Helper : public Provider {
 public:
  virtual Status connect_to_helper() = 0;
};
std::unique_ptr<Helper> pmi1_over(int socket);

// Replaces everything that is not a letter, a digit, '_' or '-': safe in a file name.
std::string file_safe(std::string_view text);

}  // namespace hr::boot
