// Tree: this process's part of a job's tree of hosts: the ranks here, and the subtrees below.
//
// mpiexec is the root, and each agent is a node. A message from above is forwarded to its destination. Messages from
// below are combined if possible (PMI exchanges, kReady, kDone), so that a channel carries a single message for all,
// and otherwise forwarded. The root ends an exchange by sending the result down to all hosts. Owner: Job or Agent. One
// thread.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "host/host_ranks.hpp"
#include "plan/job_plan.hpp"
#include "system/event_loop.hpp"
#include "tree/remote_host.hpp"
#include "wire/message.hpp"

namespace hr::launcher {

class Tree {
 public:
  struct Callbacks {
    std::function<void(const Message&)> up;
    std::function<OutputTarget&(int rank, int stream)> target;  // see HostRanks
    std::function<int()> standard_input;                        // see HostRanks
    // Return the children of other trees of this process, and whether there are other trees.
    std::function<std::set<pid_t>()> others = [] { return std::set<pid_t>(); };
    std::function<bool()> has_other_jobs = [] { return false; };
  };

  // own: the host of this process, an index into the plan's hosts, or -1. first to last: places (remote_host.hpp)
  // below.
  Tree(EventLoop& loop, JobPlan plan, int own, int first, int last, bool is_root, Callbacks callbacks);

  // Starts the agents below, and checks that the ranks here are ready to start. Sends kReady up when all of them are.
  void start();
  void down(const Message& message);
  // Called when children of this process have ended.
  void reap();
  void catch_up() { own_.catch_up(); }
  // Sets whether the agents below are expected to be silent, so that silence is not a failure.
  void expect_silence(bool expected);
  void flush(std::chrono::milliseconds limit);

  // Returns the children of this process: the ranks here, and the commands of agents.
  [[nodiscard]] std::set<pid_t> pids() const;

  [[nodiscard]] const JobPlan& plan() const noexcept { return plan_; }

 private:
  void on_own(const Message& message);
  void on_child(RemoteHost& child, const Message& message);
  bool gather(const Message& message, RemoteHost* child);
  void exclude(RemoteHost& child);
  void turn_or_pass(const Message& message);
  void on_ask(const std::string& key, RemoteHost* child);
  void check_fence(int exchange);
  void check_ready();
  void check_done();
  void to_children(const Message& message);
  void finish();

  EventLoop& loop_;
  const JobPlan plan_;
  const std::string encoded_plan_;
  const int own_host_;
  const bool is_root_;
  Callbacks callbacks_;
  HostRanks own_;
  std::list<RemoteHost> children_;
  std::size_t members_;  // participants in an exchange: the subtrees, and the ranks here as one
  std::size_t ready_ = 0;
  std::size_t done_ = 0;
  // Indexed by exchange.
  std::array<std::size_t, 2> in_fence_{};
  std::array<std::vector<KeyValue>, 2> collected_;
  std::set<std::string> asked_;  // keys that have been requested
  bool finished_here_ = false;
};

}  // namespace hr::launcher
