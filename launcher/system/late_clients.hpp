// LateClients: gives a new connection to a rank's program that requests one because it did not inherit the rank's
// connection to the launcher (boot/late_line.hpp).
//
// It listens at an abstract socket address and reads requests, whose answers its owner decides. A process proves that
// it belongs to the job by the secret in the ranks' environment, and by its user. Owner: HostRanks. One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <string>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"

namespace hr::launcher {

// Returns the secret of this launcher, the same for all its ranks here: a process with it in the environment belongs to
// the job.
const std::string& job_secret();

class LateClients {
 public:
  struct Callbacks {
    // Returns the answer to a process that claims to be a program of `rank`, as PMI words: "rc=0" accepts it.
    std::function<std::string(int rank, pid_t pid)> judge;
    // Receives the connection after the answer "rc=0".
    std::function<void(int rank, Descriptor line)> join;
  };

  LateClients(EventLoop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}
  ~LateClients();
  LateClients(const LateClients&) = delete;
  LateClients& operator=(const LateClients&) = delete;

  // False if the socket cannot be created; programs then cannot request a connection.
  bool begin();
  // Returns the environment variable for a rank whose inherited end of the connection is `socket`; empty before
  // begin().
  [[nodiscard]] std::string variable_for(int socket) const;

 private:
  struct Caller {
    Descriptor line;
    pid_t pid = 0;
    std::string received;
    EventLoop::TimerId limit;
  };

  void take_caller();
  void hear(Caller& caller);
  void drop(Caller& caller);
  void answer(Caller& caller);

  EventLoop& loop_;
  Callbacks callbacks_;
  Descriptor listening_;
  std::string name_;
  std::list<Caller> callers_;
};

// True if `process` was started by `ancestor`, or by a descendant of it.
[[nodiscard]] bool descends_from(pid_t process, pid_t ancestor);

}  // namespace hr::launcher
