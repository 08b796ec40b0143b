#include "job/job.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/rank.hpp"
#include "system/cleanup.hpp"
#include "system/process.hpp"

namespace hr::launcher {
namespace {

using Kind = Message::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{1000};  // between SIGTERM and SIGKILL
constexpr milliseconds kStackLimit{10000};
constexpr milliseconds kStackGrace{2000};  // time for the transfer of the answers
constexpr milliseconds kStopLimit{500};  // time for the message to other hosts that this process is about to be stopped
constexpr std::size_t kMostStacks = 8;
constexpr int kMostNames = 8;  // maximum number of hosts named in a message
constexpr int kTimeoutExit = 124;
constexpr int kCreditStep = 64 << 10;

bool is_same_file(int first, int second) {
  struct stat one{};
  struct stat two{};
  return ::fstat(first, &one) == 0 && ::fstat(second, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

std::string reason_of_write(int error) {
  return std::strerror(error) + std::string(error == EFBIG ? " (ulimit -f)" : "");
}

std::unique_ptr<Sink> make_error_sink(EventLoop& loop) {
  return is_same_file(STDOUT_FILENO, STDERR_FILENO) ? nullptr : std::make_unique<Sink>(loop, STDERR_FILENO);
}

}  // namespace

Job::Job(const Options& options, JobPlan plan)
    : options_(options),
      output_(loop_, STDOUT_FILENO),
      separate_error_(make_error_sink(loop_)),
      error_(separate_error_ != nullptr ? *separate_error_ : output_),
      own_name_(own_host_name()) {
  output_.when_lost([this] { tell_lost_output(); });
  const int host_of_first = plan.host_of.empty() ? -1 : plan.host_of.front();
  if (host_of_first != plan.root_host) input_host_ = host_of_first;
  if (!options.save_counters.empty()) saved_counters_ = std::make_unique<SavedCounters>(options.save_counters);
  add_world(std::move(plan));
}

Job::World& Job::add_world(JobPlan plan) {
  World& world = worlds_.emplace_back();
  world.number = spawned_;
  world.ranks.resize(static_cast<std::size_t>(plan.ranks()));
  plan.save_counters = saved_counters_ != nullptr;
  plan.prompts = output_.is_terminal() || error_.is_terminal();
  Tree::Callbacks callbacks;
  callbacks.up = [this, &world](const Message& message) { on_message(world, message); };
  callbacks.target = [&world](int rank, int stream) -> OutputTarget& {
    return world.outputs[static_cast<std::size_t>(2 * rank + stream)];
  };
  callbacks.standard_input = [this] { return standard_input(); };
  callbacks.others = [this, &world] {
    std::set<pid_t> all = not_ours_;
    all.insert(guard_.pid());
    for (const World& each : worlds_) {
      if (&each != &world) all.merge(each.tree->pids());
    }
    return all;
  };
  callbacks.has_other_jobs = [this, &world] {
    return std::any_of(worlds_.begin(), worlds_.end(),
                       [&world](const World& each) { return &each != &world && !each.over; });
  };
  const int own = plan.root_host;
  const int places = count_places(plan);
  world.tree = std::make_unique<Tree>(loop_, std::move(plan), own, 0, places, true, std::move(callbacks));
  return world;
}

Job::~Job() = default;

int Job::run() {
  not_ours_ = listed_children();
  guard_.start(first().tree->plan().id, first().tree->plan().shm_directories);
  // Orphans of the ranks become children of this process, so that it can end them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  signals_ = std::make_unique<Signals>(loop_, [this](int signal) { on_signal(signal); });
  raise_descriptor_limit();
  if (open_counters() && open_outputs(first())) {
    first().tree->start();
  } else {
    check_end(first());
  }
  while (!over_) loop_.run_once();
  if (saved_counters_ != nullptr) keep_counters();
  clean_up();
  return exit_code_;
}

bool Job::open_counters() {
  const std::string problem = saved_counters_ != nullptr ? saved_counters_->begin() : "";
  if (!problem.empty()) fail(1, problem);
  return problem.empty();
}

void Job::keep_counters() {
  const std::string problem = saved_counters_->end();
  if (problem.empty()) return;
  say(problem);
  if (exit_code_ == 0) exit_code_ = 1;
}

bool Job::open_outputs(World& world) {
  const int ranks = static_cast<int>(world.ranks.size());
  const int digits = static_cast<int>(std::to_string(ranks - 1).size());
  for (int rank = 0; rank < ranks && !ending_; ++rank) open_output(world, rank, digits);
  return !ending_;
}

void Job::open_output(World& world, int rank, int digits) {
  const std::string of_world = world.number != 0 ? std::to_string(world.number) + "." : "";
  const std::string label = options_.label ? "[" + of_world + std::to_string(rank) + "] " : "";
  const std::string directory =
      options_.output_directory + (world.number != 0 ? "/spawned-" + std::to_string(world.number) : "");
  for (auto [sink, stream] : {std::pair(&output_, "stdout"), std::pair(&error_, "stderr")}) {
    OutputFile file;
    if (!options_.output_directory.empty()) {
      if (const int reason = file.open(directory, rank, digits, stream); reason != 0) {
        return fail(1,
                    "cannot write " + file.path() + " for rank " + std::to_string(rank) + ": " + std::strerror(reason));
      }
    }
    world.outputs.emplace_back(*sink, label, std::move(file), !options_.output_in_files_only);
  }
}

// Starts the ranks; called when all hosts are ready.
void Job::go(World& world) {
  if (ending_ || world.finishing || std::exchange(world.started, true)) return;
  world.running = static_cast<int>(world.ranks.size());
  if (world.spawner) {
    world.tree->down({.kind = Kind::kGo});
    const std::string& id = world.tree->plan().id;
    return world.answered ? void() : answer_spawn(world, "cmd=spawn_result rc=0 job=" + id);
  }
  started_ = true;
  if (options_.timeout_seconds > 0) {
    loop_.after(milliseconds(static_cast<std::int64_t>(options_.timeout_seconds * 1000)), [this] { on_timeout(); });
  }
  if (input_host_ >= 0) {
    input_ = std::make_unique<InputSource>(loop_, [this](std::string_view piece) {
      first().tree->down({.kind = Kind::kInput, .host = input_host_, .text = std::string(piece)});
    });
  }
  world.tree->down({.kind = Kind::kGo});
  if (input_ != nullptr) input_->more();
}

// Returns standard input for rank 0 on this host.
int Job::standard_input() {
  if (::isatty(STDIN_FILENO) != 1) return STDIN_FILENO;
  terminal_ = std::make_unique<InputPipe>(loop_, [this] { input_->more(); });
  input_ = std::make_unique<InputSource>(loop_, [this](std::string_view piece) { terminal_->write(piece); });
  const int end = terminal_->for_rank_0();
  return end >= 0 ? end : STDIN_FILENO;
}

std::string Job::name_of_host(const World& world, int host) const {
  const JobPlan& plan = world.tree->plan();
  return host == plan.root_host ? own_name_ : plan.hosts[static_cast<std::size_t>(host)];
}

std::string Job::name_of(const World& world, int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  const JobPlan& plan = world.tree->plan();
  if (plan.adopted >= 0) return "the process that spawned them";
  return "rank " + std::to_string(rank) + (world.number != 0 ? " of spawned job " + std::to_string(world.number) : "") +
         " on host " + name_of_host(world, plan.host_of[at]) +
         (world.ranks[at].pid > 0 ? " (pid " + std::to_string(world.ranks[at].pid) + ")" : "");
}

void Job::say(const std::string& text) { error_.write(this, "mpiexec: " + text + "\n"); }

void Job::fail(int exit_code, const std::string& text) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  // Shows earlier output of the ranks first.
  catch_up();
  if (!text.empty()) say(started_ ? text + "; ending the job" : text);
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // lets a stopped process handle its SIGTERM
  loop_.after(kGrace, [this] { signal_all(SIGKILL); });
  for (World& world : worlds_) {
    if (world.started) continue;
    // The spawner is not always a child that has now been signalled (--serve).
    world.spawner && !world.answered ? refuse_spawn(world, "the job is ending" + (text.empty() ? "" : ": " + text))
                                     : check_end(world);
  }
}

void Job::catch_up() {
  for (World& world : worlds_) world.tree->catch_up();
}

// Handles the failure of one rank, which ends the job unless the job continues without the rank.
void Job::fail_rank(World& world, const Message& ended, int exit_code, const std::string& text) {
  if (!options_.keep_going) return end_spawned_alone(world, exit_code, text) ? void() : fail(exit_code, text);
  // Done first, as others wait for the rank.
  if ((ended.numbers[3] & Message::kInitialised) != 0) tell_failed(world, ended.rank, text);
  go_on(exit_code, text);
}

void Job::go_on(int exit_code, const std::string& text) {
  catch_up();
  say(text + (options_.keep_going ? "; the others continue (--enable-recovery)" : "; ending its job"));
  if (exit_code_ == 0) exit_code_ = exit_code;
}

// Reports the death of a rank to the processes that wait for it, which then stop waiting.
void Job::tell_failed(World& world, int rank, const std::string& text) {
  if (world.running != 0) world.tree->down({.kind = Kind::kLeft, .rank = rank, .text = text});
}

void Job::signal_all(int signal) {
  for (World& world : worlds_) this->signal(world, signal);
}

void Job::signal(World& world, int signal) {
  if (world.started) world.tree->down({.kind = Kind::kSignal, .numbers = {signal, ending_ ? 1 : 0}});
}

void Job::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      for (World& world : worlds_) world.tree->reap();
      return;
    case SIGTSTP:
      return stop();
    case SIGCONT:
      signal_all(SIGCONT);
      if (input_ != nullptr) input_->resume();
      return;
    case SIGUSR1:
    case SIGUSR2:
      return signal_all(signal);
    default:
      // The first time, the ranks decide how to handle the signal; the second time, they are ended.
      if (!started_) return fail(128 + signal, "interrupted by signal " + signal_text(signal));
      if (interrupted_by_ != 0) {
        fail(128 + signal, "");
        return signal_all(SIGKILL);
      }
      interrupted_by_ = signal;
      signal_all(signal);
  }
}

void Job::stop() {
  signal_all(SIGTSTP);
  for (World& world : worlds_) world.tree->flush(kStopLimit);
  ::kill(::getpid(), SIGSTOP);
}

void Job::on_timeout() {
  std::vector<std::pair<World*, int>> running;
  std::string who;
  for (World& world : worlds_) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(world.ranks.size()); ++rank) {
      if (world.started && !world.ranks[static_cast<std::size_t>(rank)].ended) ranks.push_back(rank);
    }
    if (ranks.empty()) continue;
    who += (who.empty() ? "rank " : ", rank ") + as_ranges(ranks) +
           (world.number != 0 ? " of spawned job " + std::to_string(world.number) : "");
    for (const int rank : ranks) running.emplace_back(&world, rank);
  }
  if (ending_ || running.empty()) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", options_.timeout_seconds);
  say("the job did not end within " + std::string(seconds) + " s (" + options_.timeout_origin +
      "); still running: " + who);
  if (running.size() > kMostStacks) running.resize(kMostStacks);
  for (const auto& [world, rank] : running) {
    where_[{world, rank}] = "  no answer in time\n";
    const int host = world->tree->plan().host_of[static_cast<std::size_t>(rank)];
    world->tree->down(
        {.kind = Kind::kWhere, .host = host, .rank = rank, .numbers = {static_cast<int>(kStackLimit.count())}});
  }
  loop_.after(kStackLimit + kStackGrace, [this] { show_where(); });
}

void Job::show_where() {
  if (ending_) return;
  for (const auto& [who, text] : where_) error_.write(this, name_of(*who.first, who.second) + ":\n" + text);
  fail(kTimeoutExit, "");
}

void Job::on_message(World& world, const Message& message) {
  const bool tells_pid = message.kind != Kind::kOutput && message.kind != Kind::kName && message.kind != Kind::kSpawn;
  if (message.rank >= 0 && message.numbers[0] > 0 && tells_pid) {
    world.ranks[static_cast<std::size_t>(message.rank)].pid = message.numbers[0];
  }
  switch (message.kind) {
    case Kind::kReady:
      return go(world);
    case Kind::kProblem:
      return on_problem(world, message);
    case Kind::kSpawn:
      return on_spawn(world, message);
    case Kind::kName:
      return on_name(world, message);
    case Kind::kHostFailed:
      return on_host_failed(world, message);
    case Kind::kBound:
      if (message.rank < 0) return error_.write(this, message.text);
      return say(name_of(world, message.rank) +
                 (message.text.empty() ? " is not bound" : " is bound to CPU " + message.text));
    case Kind::kOutput:
      return on_output(world, message);
    case Kind::kInputTaken:
      return input_ != nullptr ? input_->more() : void();
    case Kind::kAbort:
      return on_abort(world, message);
    case Kind::kCrashed:
      return on_crash(world, message);
    case Kind::kWhereIs:
      where_[{&world, message.rank}] = message.text;
      return ++where_told_ == where_.size() ? show_where() : void();
    case Kind::kStuck:
      // A rank that has ended will never enter the barrier in which others wait.
      if (world.left < 0) return;
      return on_stuck(world);
    case Kind::kEnded:
      return on_ended(world, message);
    case Kind::kCounters:
      return saved_counters_ != nullptr ? saved_counters_->add(message.text) : void();
    case Kind::kDone:
      return on_done(world);
    default:
      return;
  }
}

void Job::on_problem(World& world, const Message& message) {
  if (world.spawner && world.finishing) return;  // the first problem has ended it
  std::vector<int> ranks;                        // those of the program that the problem concerns
  const std::vector<int> programs = world.tree->plan().appnums();
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    if (programs[rank] + 1 == message.numbers[1]) ranks.push_back(static_cast<int>(rank));
  }
  if (world.spawner && !world.answered) return refuse_spawn(world, message.text, std::move(ranks));
  world.failed.insert(world.failed.end(), ranks.begin(), ranks.end());
  if (!end_spawned_alone(world, message.numbers[0], message.text)) fail(message.numbers[0], message.text);
}

void Job::on_stuck(World& world) {
  const std::string text = name_of(world, world.left) + " ended without joining the others in " +
                           (world.left_finalized ? "their exchange" : "MPI_Init");
  if (!end_spawned_alone(world, 1, text)) fail(1, text);
}

void Job::on_output(World& world, const Message& message) {
  const int stream = message.numbers[0] == 0 ? 0 : 1;
  const int host = world.tree->plan().host_of[static_cast<std::size_t>(message.rank)];
  world.outputs[static_cast<std::size_t>(2 * message.rank + stream)].take_part(message.text, message.numbers[1] == 1);
  world.taken[{host, stream}].bytes += static_cast<int>(message.text.size());
  give_credit(world, host, stream);
}

// Reports lost output, so that readers do not mistake the rest for the whole.
void Job::tell_lost_output() {
  if (output_.lost() == 0 || std::exchange(lost_told_, true)) return;
  say("cannot write standard output: " + reason_of_write(output_.lost()) + "; what ranks print there is lost");
}

// Sends credit to a host; a host that prints faster than the reader reads has to wait.
void Job::give_credit(World& world, int host, int stream) {
  Taken& taken = world.taken[{host, stream}];
  Sink& sink = stream == 0 ? output_ : error_;
  if (sink.broken()) return world.tree->down({.kind = Kind::kCredit, .host = host, .numbers = {stream, -1}});
  if (taken.waits || taken.bytes < kCreditStep) return;
  if (sink.full()) {
    taken.waits = true;
    const int number = world.number;
    return sink.when_room([this, number, host, stream] {
      // The world may have ended in the meantime.
      for (World& each : worlds_) {
        if (each.number != number) continue;
        each.taken[{host, stream}].waits = false;
        return give_credit(each, host, stream);
      }
    });
  }
  world.tree->down({.kind = Kind::kCredit, .host = host, .numbers = {stream, std::exchange(taken.bytes, 0)}});
}

// Shows only the first stack, which explains the failure.
void Job::on_crash(World& world, const Message& message) {
  if (message.text.empty() || ending_ || std::exchange(crash_seen_, true)) return;
  catch_up();
  error_.write(this, name_of(world, message.rank) + " crashed with signal " + signal_text(message.numbers[1]) + ":\n" +
                         message.text);
}

void Job::on_abort(World& world, const Message& message) {
  const int code = message.numbers[1];
  // An aborted job must not look like a successful one.
  const int exit_code = (code & 0xff) == 0 ? 1 : code & 0xff;
  const std::string text = name_of(world, message.rank) + " called MPI_Abort with code " + std::to_string(code) +
                           (exit_code == code ? "" : " (exit code " + std::to_string(exit_code) + ")");
  if (world.spawner) world.failed.push_back(message.rank);
  if (!end_spawned_alone(world, exit_code, text)) fail(exit_code, text);
}

void Job::on_host_failed(World& world, const Message& message) {
  const JobPlan& plan = world.tree->plan();
  const int first = place_of(plan, message.host);
  const int last = first + message.numbers[0];
  std::vector<int> ranks, ranks_beyond, ended;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const int place = place_of(plan, plan.host_of[at]);
    if (place < first || place >= last) continue;
    (place == first ? ranks : ranks_beyond).push_back(rank);
    if (std::exchange(world.ranks[at].ended, true) || !world.started) continue;
    --world.running;
    ended.push_back(rank);
  }
  std::string who = name_of_host(world, message.host) + " (rank " + as_ranges(ranks) + ")";
  for (int place = first + 1; place < last; ++place) {
    const bool too_many = place - first > kMostNames;
    who += place == first + 1 ? ", and with it " : ", ";
    who += too_many ? std::to_string(last - place) + " more" : name_of_host(world, host_at(plan, place));
    if (too_many) break;
  }
  if (!ranks_beyond.empty()) who += " (rank " + as_ranges(ranks_beyond) + ")";
  const std::string text =
      (message.numbers[1] == 1 ? "lost host " : "cannot start ranks on host ") + who + ": " + message.text;
  if (world.spawner && world.answered) world.failed.insert(world.failed.end(), ended.begin(), ended.end());
  if (world.spawner && !world.answered) {
    refuse_spawn(world, text);
  } else if (world.spawner && world.finishing) {
    // The first problem has ended it.
  } else if (options_.keep_going && world.started && !ending_) {
    for (const int rank : ended) tell_failed(world, rank, text);
    go_on(1, text);
  } else if (!end_spawned_alone(world, 1, text)) {
    fail(1, text);
  }
  check_end(world);
}

void Job::on_ended(World& world, const Message& message) {
  const int rank = message.rank;
  if (std::exchange(world.ranks[static_cast<std::size_t>(rank)].ended, true)) return;
  --world.running;
  const auto [pid, code, status, flags] = message.numbers;
  const bool initialised = (flags & Message::kInitialised) != 0;
  const bool finalized = (flags & Message::kFinalized) != 0;
  world.connected |= finalized && (flags & Message::kUsedWorld) != 0;
  if (world.spawner && !finalized && !world.finishing) world.failed.push_back(rank);
  if (ending_ || world.finishing || (world.spawner && !world.answered)) {
    // The end of this rank is expected.
  } else if (code != CLD_EXITED) {
    judge_death(world, message, status, code == CLD_DUMPED);
    if (!ending_ && (finalized || !initialised)) tell_left(world, rank, finalized);
  } else if (status != 0 && finalized) {
    // The other ranks have also finalized, or are about to, and end on their own.
    if (exit_code_ == 0) exit_code_ = status;
    tell_left(world, rank, finalized);
  } else if (status != 0) {
    fail_rank(world, message, status,
              name_of(world, rank) + " exited with code " + std::to_string(status) +
                  (initialised ? " before MPI_Finalize" : ""));
    if (!initialised) tell_left(world, rank, finalized);
  } else if (initialised && !finalized) {
    fail_rank(world, message, 1, name_of(world, rank) + " exited without calling MPI_Finalize");
  } else {
    tell_left(world, rank, finalized);
  }
  check_end(world);
}

void Job::judge_death(World& world, const Message& message, int signal, bool dumped) {
  // A rank that does not end after a crash is killed: the signal of the crash counts.
  const int crash = message.numbers[3] >> Message::kCrashShift;
  if (crash != 0 && signal == SIGKILL) signal = crash;
  if (signal == interrupted_by_) return fail(128 + signal, "interrupted by signal " + signal_text(signal));
  fail_rank(
      world, message, 128 + signal,
      name_of(world, message.rank) + " was killed by signal " + signal_text(signal) + (dumped ? ", core dumped" : ""));
}

// Notifies the hosts that a rank has left. A host whose ranks wait for that rank then reports it.
void Job::tell_left(World& world, int rank, bool finalized) {
  if (ending_ || world.running == 0 || world.left >= 0) return;
  world.left = rank;
  world.left_finalized = finalized;
  world.tree->down({.kind = Kind::kLeft, .rank = rank});
}

// Lets the hosts clean up when no rank is running, or when the job ends before any was started.
void Job::check_end(World& world) {
  if (world.running > 0 || (!world.started && !ending_) || std::exchange(world.finishing, true)) return;
  if (world.spawner && world.answered) tell_spawned_ended(world);
  loop_.after(milliseconds(0), [&world] { world.tree->down({.kind = Kind::kFinish}); });
}

void Job::on_done(World& world) {
  world.over = true;
  over_ = std::all_of(worlds_.begin(), worlds_.end(), [](const World& each) { return each.over; });
  if (!over_) loop_.after(milliseconds(0), [this] { drop_finished(); });
}

void Job::clean_up() {
  bool lost = false;
  for (World& world : worlds_) {
    world.tree.reset();
    for (RankOutput& each : world.outputs) lost |= each.finish();
  }
  output_.flush();
  tell_lost_output();
  error_.flush();
  lost |= output_.lost() != 0 || error_.lost() != 0;
  if (lost && exit_code_ == 0) exit_code_ = 1;
}

}  // namespace hr::launcher
