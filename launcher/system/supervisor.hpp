// Supervisor: a process that cleans up after an agent, however the agent ends.
#pragma once

#include <set>
#include <string>

namespace hr::launcher {

// start() forks, and returns in the new process, which becomes the agent. The old one waits until the agent has ended,
// kills the agent's remaining processes, removes the job's shared-memory files, and exits as the agent did. It kills an
// agent that outlives its connection.
class Supervisor {
 public:
  // Does not return in the supervisor. Returns false if no supervisor could be started; this process is then the agent.
  bool start();
  // Called in the agent, once: records the files of its job that are to be removed.
  void note(const std::string& job, const std::set<std::string>& directories);

 private:
  struct Notes;
  Notes* notes_ = nullptr;  // memory that both processes share
};

}  // namespace hr::launcher
