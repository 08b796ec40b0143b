// The process around an agent that tidies up after it, however it ends.
#pragma once

#include <set>
#include <string>

namespace hr::launcher {

// Forks. Returns in the new process, the agent; the old one stays until that has ended, kills whatever it left, removes
// the job's shared-memory files, and exits as the agent did.
class Keeper {
 public:
  // Does not return in the keeper. False in the agent where there could be none.
  bool start();
  // In the agent: what there will be to remove. One job, once.
  void note(const std::string& job, const std::set<std::string>& directories);

 private:
  struct Notes;
  Notes* notes_ = nullptr;  // memory that both processes share
};

}  // namespace hr::launcher
