// Process around an agent that tidies up after it, in whatever way it ends.
#pragma once

#include <set>
#include <string>

namespace hr::launcher {

// Forks. Returns in the new process, the agent; the old one stays until that has ended, kills its remaining processes,
// removes the job's shared-memory files, and exits as the agent did. It kills an agent that outlives its connection.
class Supervisor {
 public:
  // Does not return in the supervisor. Returns false in the agent if there could be no supervisor.
  bool start();
  // Called in the agent: notes the files to be removed. One job, once.
  void note(const std::string& job, const std::set<std::string>& directories);

 private:
  struct Notes;
  Notes* notes_ = nullptr;  // memory that both processes share
};

}  // namespace hr::launcher
