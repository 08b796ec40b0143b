#include "job.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cleanup.hpp"
#include "process.hpp"
#include "rank.hpp"

namespace hr::launcher {
namespace {

using Kind = Message::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{1000};  // between SIGTERM and SIGKILL
constexpr milliseconds kStackLimit{10000};
constexpr milliseconds kStackGrace{2000};  // for the way of the answers
constexpr milliseconds kStopLimit{500};    // to tell other hosts that we are about to be stopped
constexpr std::size_t kMostStacks = 8;
constexpr int kMostNames = 8;  // of hosts in a message
constexpr int kTimeoutExit = 124;
constexpr int kCreditStep = 64 << 10;

bool is_same_file(int first, int second) {
  struct stat one{};
  struct stat two{};
  return ::fstat(first, &one) == 0 && ::fstat(second, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
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
      own_name_(own_host_name()),
      ranks_(static_cast<std::size_t>(plan.ranks())) {
  plan.prompts = output_.is_terminal() || error_.is_terminal();
  const int host_of_first = plan.host_of.empty() ? -1 : plan.host_of.front();
  if (host_of_first != plan.root_host) input_host_ = host_of_first;
  Tree::Callbacks callbacks;
  callbacks.up = [this](const Message& message) { on_message(message); };
  callbacks.target = [this](int rank, int stream) -> OutputTarget& {
    return outputs_[static_cast<std::size_t>(2 * rank + stream)];
  };
  callbacks.standard_input = [this] { return standard_input(); };
  const int own = plan.root_host;
  const int places = count_of_places(plan);
  tree_ = std::make_unique<Tree>(loop_, std::move(plan), own, 0, places, true, std::move(callbacks));
}

Job::~Job() = default;

int Job::run() {
  // Orphans of our ranks come to us, and we end them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  signals_ = std::make_unique<Signals>(loop_, [this](int signal) { on_signal(signal); });
  raise_descriptor_limit();
  if (open_outputs()) {
    tree_->start();
  } else {
    check_end();
  }
  while (!over_) loop_.run_once();
  clean_up();
  return exit_code_;
}

bool Job::open_outputs() {
  const int digits = static_cast<int>(std::to_string(ranks_.size() - 1).size());
  for (int rank = 0; rank < static_cast<int>(ranks_.size()) && !ending_; ++rank) open_output(rank, digits);
  return !ending_;
}

void Job::open_output(int rank, int digits) {
  const std::string label = options_.label ? "[" + std::to_string(rank) + "] " : "";
  for (auto [sink, stream] : {std::pair(&output_, "stdout"), std::pair(&error_, "stderr")}) {
    OutputFile file;
    if (!options_.output_directory.empty()) {
      if (const int reason = file.open(options_.output_directory, rank, digits, stream); reason != 0) {
        return fail(1,
                    "cannot write " + file.path() + " for rank " + std::to_string(rank) + ": " + std::strerror(reason));
      }
    }
    outputs_.emplace_back(*sink, label, std::move(file), !options_.output_in_files_only);
  }
}

// All hosts could start their ranks.
void Job::go() {
  if (ending_ || std::exchange(started_, true)) return;
  running_ = static_cast<int>(ranks_.size());
  if (options_.timeout_seconds > 0) {
    loop_.after(milliseconds(static_cast<std::int64_t>(options_.timeout_seconds * 1000)), [this] { on_timeout(); });
  }
  if (input_host_ >= 0) {
    input_ = std::make_unique<InputSource>(loop_, [this](std::string_view piece) {
      tree_->down({.kind = Kind::kInput, .host = input_host_, .text = std::string(piece)});
    });
  }
  tree_->down({.kind = Kind::kGo});
  if (input_ != nullptr) input_->more();
}

// For rank 0 on this host.
int Job::standard_input() {
  if (::isatty(STDIN_FILENO) != 1) return STDIN_FILENO;
  terminal_ = std::make_unique<InputPipe>(loop_, [this] { input_->more(); });
  input_ = std::make_unique<InputSource>(loop_, [this](std::string_view piece) { terminal_->write(piece); });
  const int end = terminal_->for_rank_0();
  return end >= 0 ? end : STDIN_FILENO;
}

std::string Job::name_of_host(int host) const {
  const JobPlan& plan = tree_->plan();
  return host == plan.root_host ? own_name_ : plan.hosts[static_cast<std::size_t>(host)];
}

std::string Job::name_of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return "rank " + std::to_string(rank) + " on host " + name_of_host(tree_->plan().host_of[at]) +
         (ranks_[at].pid > 0 ? " (pid " + std::to_string(ranks_[at].pid) + ")" : "");
}

void Job::say(const std::string& text) { error_.write(this, "mpiexec: " + text + "\n"); }

void Job::fail(int exit_code, const std::string& text) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  // What ranks printed before comes before.
  tree_->catch_up();
  if (!text.empty()) say(started_ ? text + "; ending the job" : text);
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process takes its SIGTERM then
  loop_.after(kGrace, [this] { signal_all(SIGKILL); });
  if (!started_) check_end();
}

// The end of one rank, which is the job's end unless it is to go on without the rank.
void Job::fail_rank(const Message& ended, int exit_code, const std::string& text) {
  if (!options_.keep_going) return fail(exit_code, text);
  // First, as others wait for it.
  if ((ended.numbers[3] & Message::kInitialised) != 0) tell_failed(ended.rank, text);
  go_on(exit_code, text);
}

void Job::go_on(int exit_code, const std::string& text) {
  tree_->catch_up();
  say(text + "; the others go on (--enable-recovery)");
  if (exit_code_ == 0) exit_code_ = exit_code;
}

// Who waits for a rank that has died is told so, and does not wait any more.
void Job::tell_failed(int rank, const std::string& text) {
  if (running_ != 0) tree_->down({.kind = Kind::kLeft, .rank = rank, .text = text});
}

void Job::signal_all(int signal) {
  if (started_) tree_->down({.kind = Kind::kSignal, .numbers = {signal, ending_ ? 1 : 0}});
}

void Job::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return tree_->reap();
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
      // The first time the ranks decide what it means to them; the second time nobody is asked.
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
  tree_->flush(kStopLimit);
  ::kill(::getpid(), SIGSTOP);
}

void Job::on_timeout() {
  std::vector<int> running;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (!ranks_[static_cast<std::size_t>(rank)].ended) running.push_back(rank);
  }
  if (ending_ || running.empty()) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", options_.timeout_seconds);
  say("the job did not end within " + std::string(seconds) + " s (" + options_.timeout_origin +
      "); still running: rank " + as_ranges(running));
  where_asked_ = std::min(running.size(), kMostStacks);
  for (std::size_t at = 0; at < where_asked_; ++at) {
    const int host = tree_->plan().host_of[static_cast<std::size_t>(running[at])];
    tree_->down(
        {.kind = Kind::kWhere, .host = host, .rank = running[at], .numbers = {static_cast<int>(kStackLimit.count())}});
  }
  loop_.after(kStackLimit + kStackGrace, [this] { show_where(); });
}

void Job::show_where() {
  if (ending_) return;
  for (const auto& [rank, text] : where_) error_.write(this, name_of(rank) + ":\n" + text);
  fail(kTimeoutExit, "");
}

void Job::on_message(const Message& message) {
  if (message.rank >= 0 && message.numbers[0] > 0 && message.kind != Kind::kOutput) {
    ranks_[static_cast<std::size_t>(message.rank)].pid = message.numbers[0];
  }
  switch (message.kind) {
    case Kind::kReady:
      return go();
    case Kind::kProblem:
      return fail(message.numbers[0], message.text);
    case Kind::kLost:
      return on_lost(message);
    case Kind::kBound:
      if (message.rank < 0) return error_.write(this, message.text);
      return say(name_of(message.rank) + (message.text.empty() ? " is not bound" : " is bound to CPU " + message.text));
    case Kind::kOutput:
      return on_output(message);
    case Kind::kInputTaken:
      return input_ != nullptr ? input_->more() : void();
    case Kind::kAbort:
      return on_abort(message);
    case Kind::kCrashed:
      return on_crash(message);
    case Kind::kWhereIs:
      where_[message.rank] = message.text;
      return where_.size() == where_asked_ ? show_where() : void();
    case Kind::kStuck:
      // A rank that is gone will never come to the barrier that others wait in.
      if (left_ < 0) return;
      return fail(1, name_of(left_) + " ended without joining the others in " +
                         (left_finalized_ ? "their exchange" : "MPI_Init"));
    case Kind::kEnded:
      return on_ended(message);
    case Kind::kDone:
      over_ = true;
      return;
    default:
      return;
  }
}

void Job::on_output(const Message& message) {
  const int stream = message.numbers[0] == 0 ? 0 : 1;
  const int host = tree_->plan().host_of[static_cast<std::size_t>(message.rank)];
  outputs_[static_cast<std::size_t>(2 * message.rank + stream)].take(message.text);
  taken_[{host, stream}].bytes += static_cast<int>(message.text.size());
  give_credit(host, stream);
}

// A host that prints faster than our reader reads waits for this.
void Job::give_credit(int host, int stream) {
  Taken& taken = taken_[{host, stream}];
  Sink& sink = stream == 0 ? output_ : error_;
  if (sink.broken()) return tree_->down({.kind = Kind::kCredit, .host = host, .numbers = {stream, -1}});
  if (taken.waits || taken.bytes < kCreditStep) return;
  if (sink.full()) {
    taken.waits = true;
    return sink.when_room([this, host, stream] {
      taken_[{host, stream}].waits = false;
      give_credit(host, stream);
    });
  }
  tree_->down({.kind = Kind::kCredit, .host = host, .numbers = {stream, std::exchange(taken.bytes, 0)}});
}

// One stack says what went wrong.
void Job::on_crash(const Message& message) {
  if (message.text.empty() || ending_ || std::exchange(crash_seen_, true)) return;
  tree_->catch_up();
  error_.write(this,
               name_of(message.rank) + " crashes by signal " + signal_text(message.numbers[1]) + ":\n" + message.text);
}

void Job::on_abort(const Message& message) {
  const int code = message.numbers[1];
  // A job that was given up must not look like one that went well.
  const int exit_code = (code & 0xff) == 0 ? 1 : code & 0xff;
  fail(exit_code, name_of(message.rank) + " called MPI_Abort with code " + std::to_string(code) +
                      (exit_code == code ? "" : " (exit code " + std::to_string(exit_code) + ")"));
}

void Job::on_lost(const Message& message) {
  const JobPlan& plan = tree_->plan();
  const int first = place_of(plan, message.host);
  const int last = first + message.numbers[0];
  std::vector<int> ranks, ranks_beyond, ended;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const int place = place_of(plan, plan.host_of[at]);
    if (place < first || place >= last) continue;
    (place == first ? ranks : ranks_beyond).push_back(rank);
    if (std::exchange(ranks_[at].ended, true) || !started_) continue;
    --running_;
    ended.push_back(rank);
  }
  std::string who = name_of_host(message.host) + " (rank " + as_ranges(ranks) + ")";
  for (int place = first + 1; place < last; ++place) {
    const bool too_many = place - first > kMostNames;
    who += place == first + 1 ? ", and with it " : ", ";
    who += too_many ? std::to_string(last - place) + " more" : name_of_host(host_at(plan, place));
    if (too_many) break;
  }
  if (!ranks_beyond.empty()) who += " (rank " + as_ranges(ranks_beyond) + ")";
  const std::string text =
      (message.numbers[1] == 1 ? "lost host " : "cannot start ranks on host ") + who + ": " + message.text;
  if (options_.keep_going && started_ && !ending_) {
    for (const int rank : ended) tell_failed(rank, text);
    go_on(1, text);
  } else {
    fail(1, text);
  }
  check_end();
}

void Job::on_ended(const Message& message) {
  const int rank = message.rank;
  if (std::exchange(ranks_[static_cast<std::size_t>(rank)].ended, true)) return;
  --running_;
  const auto [pid, code, status, flags] = message.numbers;
  const bool initialised = (flags & Message::kInitialised) != 0;
  const bool finalized = (flags & Message::kFinalized) != 0;
  if (ending_) {
    // Not news.
  } else if (code != CLD_EXITED) {
    judge_death(message, status, code == CLD_DUMPED);
    if (!ending_ && (finalized || !initialised)) tell_left(rank, finalized);
  } else if (status != 0 && finalized) {
    // The others are past MPI too, or near it: they end by themselves.
    if (exit_code_ == 0) exit_code_ = status;
    tell_left(rank, finalized);
  } else if (status != 0) {
    fail_rank(
        message, status,
        name_of(rank) + " exited with code " + std::to_string(status) + (initialised ? " before MPI_Finalize" : ""));
    if (!initialised) tell_left(rank, finalized);
  } else if (initialised && !finalized) {
    fail_rank(message, 1, name_of(rank) + " exited without calling MPI_Finalize");
  } else {
    tell_left(rank, finalized);
  }
  check_end();
}

void Job::judge_death(const Message& message, int signal, bool dumped) {
  // A rank that was killed because it did not get to its end after a crash.
  const int crash = message.numbers[3] >> Message::kCrashShift;
  if (crash != 0 && signal == SIGKILL) signal = crash;
  if (signal == interrupted_by_) return fail(128 + signal, "interrupted by signal " + signal_text(signal));
  fail_rank(message, 128 + signal,
            name_of(message.rank) + " was killed by signal " + signal_text(signal) + (dumped ? ", core dumped" : ""));
}

// Who waits for a rank that is gone says so.
void Job::tell_left(int rank, bool finalized) {
  if (ending_ || running_ == 0 || left_ >= 0) return;
  left_ = rank;
  left_finalized_ = finalized;
  tree_->down({.kind = Kind::kLeft, .rank = rank});
}

// No rank runs any more, or none has been started and none will be: the hosts tidy up.
void Job::check_end() {
  if (running_ > 0 || (!started_ && !ending_) || std::exchange(finishing_, true)) return;
  loop_.after(milliseconds(0), [this] { tree_->down({.kind = Kind::kFinish}); });
}

void Job::clean_up() {
  tree_.reset();
  output_.flush();
  error_.flush();
}

}  // namespace hr::launcher
