// Job: one run of mpiexec, from the first rank's start to the last one's end.
//
// It has a World for the command line's ranks, and one more for each spawn by its ranks (MPI 5.0 section 11.8), each
// with its own tree of hosts. The same rules apply to all of them, and all end when the job ends. A world that cannot
// start is reported to its spawner only. Job also keeps the names that ranks publish.
//
// Rules. A rank fails when it is killed by a signal, exits with a nonzero code before MPI_Finalize, exits with 0
// between MPI_Init and MPI_Finalize, or calls MPI_Abort. The first failure is reported, decides the exit code, and ends
// the job: SIGTERM to every rank's process group, SIGKILL a second later. With --enable-recovery only MPI_Abort ends
// it, and the remaining ranks are notified of each death, including those that a host's failure causes. A host that
// cannot start its ranks ends the job in any case; no rank is started before all hosts are ready. In the end, neither
// processes nor shared memory are left. Owner: main(). One thread.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "output/input.hpp"
#include "output/output.hpp"
#include "output/rank_output.hpp"
#include "output/saved_counters.hpp"
#include "plan/job_plan.hpp"
#include "system/event_loop.hpp"
#include "system/guard.hpp"
#include "system/signals.hpp"
#include "tree/tree.hpp"
#include "wire/message.hpp"
#include "words/options.hpp"

namespace hr::launcher {

class Job {
 public:
  // The plan places ranks and programs; the options control their treatment here.
  Job(const Options& options, JobPlan plan);
  ~Job();

  // Runs the job to its end; returns mpiexec's exit code.
  int run();

 private:
  struct RankState {
    bool ended = false;
    pid_t pid = -1;  // process id, if it is known
  };
  // Received output of one stream of one host for which the host has not been sent credit yet.
  struct Taken {
    int bytes = 0;
    bool waits = false;  // true if the credit is held back until the sink has space
  };
  struct World;
  // Rank that has requested a world, and waits for the answer.
  struct Spawner {
    World* world;
    int host;
    int rank;
    bool reads_ends = false;  // SpawnRequest::reads_ends
  };
  // Ranks that start together.
  struct World {
    int number = 0;                    // 0: those of the command line
    std::deque<RankOutput> outputs{};  // two for each rank
    std::vector<RankState> ranks{};
    std::map<std::pair<int, int>, Taken> taken{};  // indexed by host and stream
    std::unique_ptr<Tree> tree{};
    int running = 0;
    int left = -1;  // the first rank that ended normally while others were running
    bool left_finalized = false;
    bool started = false;
    bool finishing = false;
    bool over = false;
    bool connected = false;            // all processes of a spawned world have called MPI_Init, which connects them
    std::optional<Spawner> spawner{};  // the spawner of a spawned world
    bool answered = false;             // the spawner has been notified that the world is running, or why it is not
    std::vector<int> failed{};         // ranks of a spawned world that ended without MPI_Finalize
    std::string why_failed{};
  };

  // Start
  World& add_world(JobPlan plan);
  bool open_counters();
  void keep_counters();
  bool open_outputs(World& world);
  void open_output(World& world, int rank, int digits);
  void go(World& world);
  int standard_input();

  // Spawning and names (job_spawn.cpp)
  void on_spawn(World& world, const Message& message);
  void answer_spawn(World& spawned, const std::string& line);
  // `failed`: the ranks that could not be started; empty: all of them.
  void refuse_spawn(World& spawned, const std::string& why, std::vector<int> failed = {});
  // If the world is a spawned one and the others continue after its failure, ends only this world and returns true.
  // Otherwise returns false, and ends nothing.
  bool end_spawned_alone(World& world, int exit_code, const std::string& why);
  // True if the first world is a process that mpiexec has not started (--serve), and does not end.
  [[nodiscard]] bool serves() const;
  void end_spawned(World& spawned);
  void tell_spawned_ended(World& spawned);
  void on_name(World& world, const Message& message);
  void reply(const Spawner& to, std::string line);
  void drop_finished();

  // Events
  void on_signal(int signal);
  void stop();
  void on_timeout();
  void show_where();
  void on_message(World& world, const Message& message);
  void on_output(World& world, const Message& message);
  void tell_lost_output();
  void give_credit(World& world, int host, int stream);
  void on_crash(World& world, const Message& message);
  void on_problem(World& world, const Message& message);
  void on_stuck(World& world);
  void on_abort(World& world, const Message& message);
  void on_ended(World& world, const Message& message);
  void on_host_failed(World& world, const Message& message);
  void on_done(World& world);
  void judge_death(World& world, const Message& message, int signal, bool dumped);
  void tell_left(World& world, int rank, bool finalized);
  void tell_failed(World& world, int rank, const std::string& text);
  void go_on(int exit_code, const std::string& text);

  // End
  void say(const std::string& text);
  void fail(int exit_code, const std::string& text);
  void fail_rank(World& world, const Message& ended, int exit_code, const std::string& text);
  void signal_all(int signal);
  void signal(World& world, int signal);
  void check_end(World& world);
  void catch_up();
  void clean_up();
  [[nodiscard]] std::string name_of(const World& world, int rank) const;
  [[nodiscard]] std::string name_of_host(const World& world, int host) const;
  [[nodiscard]] World& first() { return worlds_.front(); }

  const Options& options_;
  EventLoop loop_;
  Guard guard_;
  std::set<pid_t> not_ours_;  // children that this process had before it executed mpiexec, such as those of a shell
  Sink output_;
  std::unique_ptr<Sink> separate_error_;  // null when standard error is the same file as standard output
  Sink& error_;
  std::string own_name_;
  std::list<World> worlds_;
  int spawned_ = 0;                                // number of worlds spawned so far
  std::map<std::string, std::string> names_;       // published ports by service
  std::unique_ptr<SavedCounters> saved_counters_;  // null: counters are not saved
  std::unique_ptr<InputSource> input_;
  std::unique_ptr<InputPipe> terminal_;  // pipe to rank 0, if it is here
  std::unique_ptr<Signals> signals_;
  int input_host_ = -1;                                        // host of rank 0, if not this one
  std::map<std::pair<const World*, int>, std::string> where_;  // the stacks of ranks at the time limit
  std::size_t where_told_ = 0;
  bool started_ = false;
  bool crash_seen_ = false;
  bool lost_told_ = false;
  bool ending_ = false;  // the end has been decided; later events of ranks are expected
  bool over_ = false;
  int exit_code_ = 0;
  int interrupted_by_ = 0;  // SIGINT, SIGTERM... that was passed on
};

}  // namespace hr::launcher
