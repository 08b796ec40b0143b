// HostRanks: the ranks on one host, from their start to the end of the last one; in mpiexec for its own host, in an
// agent for the agent's.
//
// It starts them, forwards their output, serves PMI-1, reaps them, forwards signals, and has the stack of a crash
// examined. It receives instructions through handle() and reports by messages (message.hpp); Job decides on the
// consequences. A rank that crashes reports it before it dies, and waits until its stack has been examined. A rank
// whose process has exited with 0 lasts as long as another process holds its connection, such as a program that it has
// left in the background. In the end, neither processes nor shared memory are left. Owner: Tree. One thread.
#pragma once

#include <signal.h>

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "boot/failure_board.hpp"
#include "host/pmi_server.hpp"
#include "host/rank.hpp"
#include "output/input.hpp"
#include "output/output.hpp"
#include "plan/job_plan.hpp"
#include "system/background.hpp"
#include "system/event_loop.hpp"
#include "system/late_clients.hpp"
#include "topo/machine.hpp"
#include "wire/message.hpp"

namespace hr::launcher {

class HostRanks {
 public:
  struct Callbacks {
    std::function<void(const Message&)> post;
    // Returns the destination of each stream (0 standard output, 1 standard error) of a rank; it outlives the ranks.
    std::function<OutputTarget&(int rank, int stream)> target;
    // Returns the children of this process that are not among these ranks and must not be affected.
    std::function<std::set<pid_t>()> others;
    // True if this process has other jobs' ranks, whose orphans cannot be distinguished from these ranks'.
    std::function<bool()> has_other_jobs;
    // Returns the descriptor that rank 0 gets as standard input; -1: a pipe that kInput messages fill.
    std::function<int()> standard_input;
  };

  // host: an index into the plan's hosts; -1: none of the ranks is here. The plan outlives this object.
  HostRanks(EventLoop& loop, const JobPlan& plan, int host, Callbacks callbacks);
  ~HostRanks();

  // True if the ranks can be started here; else posts kProblem.
  bool prepare();
  // Starts the ranks; posts kProblem if one cannot be started.
  void start();
  void handle(const Message& message);
  void reap();
  // Forwards the output of the ranks so far, as long as there is space.
  void catch_up();
  // Ends everything that is still running here, forwards its last output, and removes the job's shared memory.
  void finish();

  // Returns the pids of ranks that were started and not reaped.
  [[nodiscard]] std::set<pid_t> pids() const;

  PmiServer& pmi() noexcept { return *pmi_; }

 private:
  struct Prepared {
    std::string directory;
    std::string path;
    std::vector<std::string> environment;
  };

  bool prepare(int number, Prepared* prepared);
  [[nodiscard]] std::string directory_of(const PlannedProgram& program) const;
  [[nodiscard]] std::string host_name() const;
  bool place_ranks();
  void find_spare_cpus();
  std::vector<std::string> environment_of(const Rank& rank, std::size_t program, int pmi, const topo::CpuSet& cpus);
  bool start_rank(Rank& rank, std::size_t program, const topo::CpuSet& cpus);
  void report_bindings();
  void give_up_from(std::size_t at);
  bool adopt(Rank& rank);
  void end_adopted(Rank& rank);
  void end(Rank& rank, const siginfo_t& information);
  [[nodiscard]] bool left_program(const Rank& rank) const;
  void leave_in_background(Rank& rank);
  void signal_outside(int signal);
  void end_background(Rank& rank);
  void give_up_background();
  void send_line(int number, std::string_view line);
  void exchange(int which, const std::vector<KeyValue>& pairs);
  void problem(int exit_code, const std::string& text, int program = -1);
  void post(Message::Kind kind, const Rank& rank, std::array<int, 4> numbers, std::string text = {});
  Rank* find(int number);
  void receive_pmi(Rank& rank);
  std::string judge_late(int number, pid_t pid);
  void join_late(int number, Descriptor line);
  void return_to_inherited(Rank& rank);
  void watch_pmi(Rank& rank);
  [[nodiscard]] pid_t program_of(const Rank& rank) const;
  void on_crash(Rank& rank, int signal);
  void catch_up(const Rank& rank);
  void check_stuck();
  void mark_failed(int rank, const std::string& why);
  bool make_boards();
  void signal_all(int signal);

  EventLoop& loop_;
  const JobPlan& plan_;
  int host_;
  Callbacks callbacks_;
  RankMap map_;                     // placement of the ranks, as programs see it
  topo::Machine machine_;           // description of this host, read when ranks are placed
  std::vector<topo::CpuSet> cpus_;  // CPUs of each rank in ranks_
  std::string spare_cpus_;          // empty: none
  std::vector<Prepared> prepared_;  // one entry per program
  std::vector<Rank> ranks_;         // ranks in ascending order; complete from the start
  std::unique_ptr<PmiServer> pmi_;
  LateClients late_;
  std::list<boot::FailureBoard> boards_;  // one board per shm directory, if the job continues after failures
  std::list<Forwarder> forwarders_;
  InputPipe input_;
  Background background_;
  bool crash_seen_ = false;
  bool someone_left_ = false;
  bool stuck_told_ = false;
  bool ending_ = false;  // the job is being ended: crashes are expected
};

}  // namespace hr::launcher
