// Job: one run of mpiexec, from the first rank's start to the last one's end.
//
// Rules. A rank fails when it dies by a signal, exits with a code that is not 0 before MPI_Finalize, exits with 0
// between MPI_Init and MPI_Finalize, or calls MPI_Abort. The first failure is told, decides the exit code, and ends the
// job: SIGTERM to every rank's process group, SIGKILL a second later. With --enable-recovery only MPI_Abort ends it,
// and the ranks that are left are told who has died, also where a host is lost. A host that cannot start its ranks ends
// it in any case; no rank is started before all hosts can. In the end nothing is left: processes, shared memory. Owner:
// main(). One thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "event_loop.hpp"
#include "input.hpp"
#include "job_plan.hpp"
#include "message.hpp"
#include "options.hpp"
#include "output.hpp"
#include "rank_output.hpp"
#include "signals.hpp"
#include "tree.hpp"

namespace hr::launcher {

class Job {
 public:
  // The plan says what runs where, the options what is made of it here.
  Job(const Options& options, JobPlan plan);
  ~Job();

  // Runs to the end; returns mpiexec's exit code.
  int run();

 private:
  struct RankState {
    bool ended = false;
    pid_t pid = -1;  // where it is known
  };
  // Output of one stream of one host that was taken, and that the host has not been told of.
  struct Taken {
    int bytes = 0;
    bool waits = false;  // until there is room
  };

  // Start
  bool open_outputs();
  void open_output(int rank, int digits);
  void go();
  int standard_input();

  // Events
  void on_signal(int signal);
  void stop();
  void on_timeout();
  void show_where();
  void on_message(const Message& message);
  void on_output(const Message& message);
  void give_credit(int host, int stream);
  void on_crash(const Message& message);
  void on_abort(const Message& message);
  void on_ended(const Message& message);
  void on_lost(const Message& message);
  void judge_death(const Message& message, int signal, bool dumped);
  void tell_left(int rank, bool finalized);
  void tell_failed(int rank, const std::string& text);
  void go_on(int exit_code, const std::string& text);

  // End
  void say(const std::string& text);
  void fail(int exit_code, const std::string& text);
  void fail_rank(const Message& ended, int exit_code, const std::string& text);
  void signal_all(int signal);
  void check_end();
  void clean_up();
  [[nodiscard]] std::string name_of(int rank) const;
  [[nodiscard]] std::string name_of_host(int host) const;

  const Options& options_;
  EventLoop loop_;
  Sink output_;
  std::unique_ptr<Sink> separate_error_;  // null when standard error is the same file as standard output
  Sink& error_;
  std::string own_name_;
  std::deque<RankOutput> outputs_;  // two for each rank
  std::vector<RankState> ranks_;
  std::map<std::pair<int, int>, Taken> taken_;  // of host and stream
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<InputSource> input_;
  std::unique_ptr<InputPipe> terminal_;  // to rank 0, where it is here
  std::unique_ptr<Signals> signals_;
  int input_host_ = -1;               // where rank 0 is, if not here
  std::map<int, std::string> where_;  // of ranks, when the time is over
  std::size_t where_asked_ = 0;
  int running_ = 0;
  int left_ = -1;  // the first rank that ended well while others ran
  bool left_finalized_ = false;
  bool started_ = false;
  bool crash_seen_ = false;
  bool ending_ = false;  // the end has been decided; what ranks do from here on is not news
  bool finishing_ = false;
  bool over_ = false;
  int exit_code_ = 0;
  int interrupted_by_ = 0;  // SIGINT, SIGTERM... that was passed on
};

}  // namespace hr::launcher
