// Job: one run of mpiexec, from the first rank's start to the last one's end.
//
// Rules. A rank fails when it dies by a signal, exits with a code that is not 0 before MPI_Finalize, exits with 0
// between MPI_Init and MPI_Finalize, or calls MPI_Abort. The first failure is told, decides the exit code, and ends the
// job: SIGTERM to every rank's process group, SIGKILL a second later. With -disable-auto-cleanup only MPI_Abort ends
// it. A rank that crashes tells us before it dies, and waits until we have shown its stack. In the end nothing is left:
// processes, shared memory. Owner: main(). One thread.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "event_loop.hpp"
#include "host_split.hpp"
#include "input.hpp"
#include "options.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "pmi_server.hpp"
#include "rank.hpp"
#include "signals.hpp"

namespace hr::launcher {

class Job {
 public:
  Job(Options options, Plan plan);
  ~Job();

  // Runs to the end; returns mpiexec's exit code.
  int run();

 private:
  // Start
  [[nodiscard]] HostSplit hosts() const;
  bool prepare_programs();
  bool start_all();
  bool start_rank(Rank& rank, std::size_t program, const topo::CpuSet& cpus);
  void report_bindings();

  // Events
  void on_signal(int signal);
  void on_timeout();
  void on_crash(Rank& rank, int signal);
  bool show_crash(const Rank& rank, int signal);
  void receive_pmi(Rank& rank);
  void reap();
  void judge(const Rank& rank, int code, int status);
  void judge_death(const Rank& rank, int signal, bool dumped);

  // End
  void say(const std::string& text);
  void fail(int exit_code, const std::string& text);
  void fail_rank(int exit_code, const std::string& text);
  void check_barrier();
  void signal_all(int signal);
  void clean_up();
  [[nodiscard]] std::string name_of(const Rank& rank) const;

  Options options_;
  Plan plan_;
  std::string host_;
  std::string id_;  // name of the PMI key-value space and of the shared-memory files
  EventLoop loop_;
  Sink output_;
  std::unique_ptr<Sink> separate_error_;  // null when standard error is the same file as standard output
  Sink& error_;
  Input input_;
  std::vector<std::string> paths_;                      // executable of each program
  std::vector<std::vector<std::string>> environments_;  // of each program
  std::vector<Rank> ranks_;
  std::unique_ptr<PmiServer> pmi_;
  std::list<Forwarder> forwarders_;
  std::unique_ptr<Signals> signals_;
  int running_ = 0;
  bool crash_seen_ = false;
  bool ending_ = false;  // the end has been decided; what ranks do from here on is not news
  int exit_code_ = 0;
  int interrupted_by_ = 0;  // SIGINT, SIGTERM... that was passed on
};

}  // namespace hr::launcher
