// A provider: the interface to one kind of launcher. Each provider is a file with a record; provider_list.cpp lists the
// records in the order in which they are tried.
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

// Maximum time for which a process that aborts the job waits for another library's launcher to read its output.
inline constexpr double kOutputSeconds = 0.1;

class Provider {
 public:
  virtual ~Provider() = default;
  // Fills the identity (processes_here only if the launcher reports it). *hosts: the host number of each rank if the
  // launcher declares them, regardless of what the processes find (mpiexec --as-hosts); else left empty.
  virtual Status connect(Identity* identity, std::vector<int>* hosts) = 0;
  // Called after connect(): true if job_id is unique among the running jobs of a host.
  [[nodiscard]] virtual bool names_jobs() const noexcept { return false; }
  // True if the launcher compares the processes' views of their hosts (host_view.hpp). compare_views() sends this
  // process's view, waits for the views of all others, and returns the placement (format_hosts()).
  [[nodiscard]] virtual bool compares_views() const noexcept { return false; }
  virtual Status compare_views(std::string_view /*view*/, std::string* /*hosts*/) {
    return Errc::kUnsupportedOperation;
  }
  virtual Status put(std::string_view key, std::string_view value) = 0;
  // `owner`: the rank that put the value.
  virtual Status get(int owner, std::string_view key, std::string* value) = 0;
  // See numbered_values.hpp. By default all values are empty.
  virtual Status get_numbered(std::string_view /*key*/, int /*first*/, int count, std::vector<std::string>* values) {
    values->assign(static_cast<std::size_t>(count), "");
    return kOk;
  }
  virtual Status fence() = 0;
  // fence() in two steps; by default the first step blocks.
  virtual Status begin_fence() { return fence(); }
  virtual Status fence_done(bool* done) {
    *done = true;
    return kOk;
  }
  // If can_wait() is true, get_waiting() waits until a process has put the key, and returns its value.
  [[nodiscard]] virtual bool can_wait() const noexcept { return false; }
  virtual Status get_waiting(std::string_view /*key*/, std::string* /*value*/) { return Errc::kUnsupportedOperation; }
  // See spawning.hpp. By default the launcher supports neither spawning nor publishing: requests fail, and
  // parent_port() returns an empty string.
  virtual Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent);
  [[nodiscard]] virtual bool spawn_pending() const { return false; }
  virtual Status spawn_done(bool* done, SpawnedJob* job);
  virtual void end_spawn(const SpawnedJob& /*job*/) {}
  virtual Status spawned_status(const SpawnedJob& /*job*/) { return kOk; }
  virtual std::vector<int> spawned_failures(const SpawnedJob& /*job*/, bool* known) {
    *known = true;
    return {};
  }
  virtual Status parent_port(std::string* port);
  virtual Status publish(std::string_view service, std::string_view port);
  virtual Status unpublish(std::string_view service);
  virtual Status look_up(std::string_view service, std::string* port);
  virtual Status finalize() = 0;
  // Called after finalize(). can_resume(): true if the launcher lets this process rejoin the job. resume() rejoins it,
  // with keys that differ from the earlier ones; collective over the job.
  [[nodiscard]] virtual bool can_resume() const noexcept { return false; }
  virtual Status resume() { return Errc::kUnsupportedOperation; }
  // See boot.hpp; for launchers that support it. Best effort.
  virtual void keep_file(int) noexcept {}
  // See boot.hpp; false by default.
  virtual bool show_stack(int) noexcept { return false; }
  // Requests the end of the job (best effort) and returns; the caller then exits.
  virtual void abort(int exit_code) noexcept = 0;
};

struct ProviderRecord {
  const char* name;
  bool (*detect)() noexcept;  // pure: reads the environment, changes nothing
  std::unique_ptr<Provider> (*create)();
};

std::span<const ProviderRecord* const> provider_list() noexcept;

// PMI-1 over a socket to a private mpiexec (own_launcher.hpp), for spawning and publishing. connect_to_helper() is
// called first.
class Helper : public Provider {
 public:
  virtual Status connect_to_helper() = 0;
};
std::unique_ptr<Helper> pmi1_over(int socket);

// Makes a string safe in a file name: replaces everything that is not a letter, a digit, '_' or '-'.
std::string file_safe(std::string_view text);

}  // namespace hr::boot
