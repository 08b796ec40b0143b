// Guard: a second process that ends the job's processes if mpiexec is killed and cannot do so itself.
//
// The kernel ends the ranks themselves with mpiexec, but not their children: programs under a shell or a wrapper. The
// guard finds these by the secret in their environment (late_clients.hpp). It runs in its own session and has none of
// mpiexec's descriptors except the pipe from which it learns of mpiexec's end. Owner: Job.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "system/descriptor.hpp"

namespace hr::launcher {

class Guard {
 public:
  Guard() = default;
  // To be called when the job has ended and nothing of it is left.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Must be called before the first rank starts, and before this process has threads. A job runs without a guard if
  // none can be started. The guard removes the shared-memory files of `job` in `directories`.
  void start(const std::string& job, const std::set<std::string>& directories);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  Descriptor pipe_;
  pid_t pid_ = -1;
};

}  // namespace hr::launcher
