// Guard: a process beside mpiexec that ends what a job has started when mpiexec is killed and cannot do it.
//
// The kernel ends the ranks themselves with mpiexec, but not what they have started: programs under a shell or a
// wrapper. The guard finds those by the secret in their environment (late_clients.hpp). It has a session of its own and
// no descriptor of mpiexec's but the pipe by which it hears of the end. Owner: Job.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "descriptor.hpp"

namespace hr::launcher {

class Guard {
 public:
  Guard() = default;
  // The job has ended, and nothing is left of it.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Call it before the first rank starts, and before this process has threads. A job runs without a guard if none can
  // start. job, directories: whose files of shared memory it removes.
  void start(const std::string& job, const std::set<std::string>& directories);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  Descriptor pipe_;
  pid_t pid_ = -1;
};

}  // namespace hr::launcher
