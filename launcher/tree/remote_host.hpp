// RemoteHost: the subtree of hosts beyond one channel, as the mpiexec or agent above sees it.
//
// It starts the agent on the first of them with ssh (or srun, see remote_command.hpp), verifies that the agent answers,
// sends it the plan, and then forwards messages. If the subtree fails for any reason, this object sends one kHostFailed
// message up. Owner: Tree. One thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "plan/job_plan.hpp"
#include "system/descriptor.hpp"
#include "system/event_loop.hpp"
#include "wire/channel.hpp"
#include "wire/handshake.hpp"
#include "wire/message.hpp"

namespace hr::launcher {

// A place is the position of a host among the plan's hosts other than mpiexec's own, so that a subtree is a range of
// places.
[[nodiscard]] int host_at(const JobPlan& plan, int place) noexcept;
[[nodiscard]] int place_of(const JobPlan& plan, int host) noexcept;
[[nodiscard]] int count_places(const JobPlan& plan) noexcept;

class RemoteHost {
 public:
  // first to last (exclusive): the places of the subtree. The plan outlives this object.
  RemoteHost(EventLoop& loop, const JobPlan& plan, const std::string& encoded_plan, int first, int last,
             std::function<void(const Message&)> up);
  ~RemoteHost();
  RemoteHost(const RemoteHost&) = delete;
  RemoteHost& operator=(const RemoteHost&) = delete;

  void start();
  // Has no effect if the subtree has failed.
  void send(const Message& message);
  // Sends kFinish: the subtree ends, or is abandoned if it has not answered yet. kDone is sent up once the subtree has
  // ended.
  void finish();
  // Called when the agent's command may have ended.
  void reap();
  void expect_silence(bool expected);
  void flush(std::chrono::milliseconds limit);

  [[nodiscard]] bool holds(int place) const noexcept { return place >= first_ && place < last_; }
  [[nodiscard]] bool is_gone() const noexcept { return gone_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // By exchange (Message): true if the whole subtree has entered it. Maintained by Tree.
  std::array<bool, 2> in_fence{};

 private:
  void read_proof();
  void read_errors();
  void open_channel(std::string_view received);
  void on_message(const Message& message);
  [[nodiscard]] bool may_say(const Message& message) const;
  void on_closed(const std::string& cause);
  void check_gone();
  // Calls check_gone() after this time, in place of the timer that runs.
  void check_gone_after(std::chrono::milliseconds time);
  void leave();
  void end();
  [[nodiscard]] std::string cause() const;

  EventLoop& loop_;
  const JobPlan& plan_;
  const std::string& encoded_plan_;
  int first_;
  int last_;
  std::function<void(const Message&)> up_;
  Nonce nonce_;
  ProofSearch proof_;
  pid_t pid_ = -1;
  int status_ = -1;  // exit status of the command, once it has ended
  Descriptor writing_, reading_, errors_;
  std::string last_errors_;
  std::unique_ptr<Channel> channel_;
  EventLoop::TimerId timer_;
  bool timer_set_ = false;
  bool ready_ = false;      // the subtree has reported that it can start
  bool finishing_ = false;  // true if the subtree's end is expected
  bool done_ = false;       // true if the subtree has reported its end
  bool closed_ = false;     // nothing more will arrive from the subtree
  bool gone_ = false;       // the end or failure of the subtree has been reported, or is being reported
  bool leaving_ = false;    // its failure has been reported, and its command is about to be ended
  std::string cause_;
};

}  // namespace hr::launcher
