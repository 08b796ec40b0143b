#include "job.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/knobs.hpp"
#include "cleanup.hpp"
#include "stacks.hpp"

namespace hr::launcher {
namespace {

constexpr std::chrono::milliseconds kGrace{1000};      // between SIGTERM and SIGKILL
constexpr std::chrono::milliseconds kLastOutput{500};  // for pipes that somebody else still holds open
constexpr std::chrono::milliseconds kStackLimit{10000};
constexpr std::size_t kMostStacks = 8;
constexpr std::chrono::milliseconds kCrashLimit{10000};  // from the answer to a rank's crash to its death
constexpr int kTimeoutExit = 124;

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Unique on this node; "headrace_" tells the library that it is.
std::string make_id() {
  unsigned long long random = 0;
  [[maybe_unused]] const ssize_t filled = ::getrandom(&random, sizeof random, 0);
  char text[64];
  std::snprintf(text, sizeof text, "headrace_%d_%016llx", ::getpid(), random);
  return text;
}

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

Job::Job(Options options, Plan plan)
    : options_(std::move(options)),
      plan_(std::move(plan)),
      host_(host_name()),
      id_(make_id()),
      output_(loop_, STDOUT_FILENO),
      separate_error_(make_error_sink(loop_)),
      error_(separate_error_ != nullptr ? *separate_error_ : output_),
      input_(loop_) {}

Job::~Job() = default;

int Job::run() {
  // Orphans of our ranks come to us, and we end them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  signals_ = std::make_unique<Signals>(loop_, [this](int signal) { on_signal(signal); });
  if (prepare_programs() && start_all() && options_.timeout_seconds > 0) {
    loop_.after(std::chrono::milliseconds(static_cast<std::int64_t>(options_.timeout_seconds * 1000)),
                [this] { on_timeout(); });
  }
  while (running_ > 0) loop_.run_once();
  clean_up();
  return exit_code_;
}

std::string Job::name_of(const Rank& rank) const {
  return "rank " + std::to_string(rank.number) + " on host " + host_ + " (pid " + std::to_string(rank.pid) + ")";
}

void Job::say(const std::string& text) { error_.write(this, "mpiexec: " + text + "\n"); }

void Job::fail(int exit_code, const std::string& text) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  // What ranks printed before comes before.
  for (Forwarder& each : forwarders_) each.catch_up();
  if (!text.empty()) say(text + "; ending the job");
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process takes its SIGTERM then
  loop_.after(kGrace, [this] { signal_all(SIGKILL); });
}

// The end of one rank, which is the job's end unless it is to go on without the rank.
void Job::fail_rank(int exit_code, const std::string& text) {
  if (!options_.keep_going) return fail(exit_code, text);
  for (Forwarder& each : forwarders_) each.catch_up();
  say(text + "; the others go on (-disable-auto-cleanup)");
  if (exit_code_ == 0) exit_code_ = exit_code;
  check_barrier();
}

void Job::signal_all(int signal) {
  for (const Rank& rank : ranks_) {
    // The group of a rank that ended may live on; its number cannot be anyone else's while we keep the zombie.
    if (rank.pid > 0) ::kill(-rank.pid, signal);
  }
}

void Job::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return reap();
    case SIGTSTP:
      signal_all(SIGTSTP);
      ::kill(::getpid(), SIGSTOP);
      return;
    case SIGCONT:
      signal_all(SIGCONT);
      return input_.resume();
    case SIGUSR1:
    case SIGUSR2:
      return signal_all(signal);
    default:
      // The first time the ranks decide what it means to them; the second time nobody is asked.
      if (interrupted_by_ != 0) {
        fail(128 + signal, "");
        signal_all(SIGKILL);
        return;
      }
      interrupted_by_ = signal;
      signal_all(signal);
  }
}

void Job::on_timeout() {
  std::vector<int> running;
  for (const Rank& rank : ranks_) {
    if (!rank.ended) running.push_back(rank.number);
  }
  if (ending_ || running.empty()) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", options_.timeout_seconds);
  say("the job did not end within " + std::string(seconds) + " s (" + options_.timeout_origin +
      "); still running: rank " + as_ranges(running));
  const auto deadline = EventLoop::Clock::now() + kStackLimit;
  for (std::size_t at = 0; at < running.size() && at < kMostStacks; ++at) {
    const Rank& rank = ranks_[static_cast<std::size_t>(running[at])];
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - EventLoop::Clock::now());
    error_.write(this, name_of(rank) + ":\n" + where_is(rank.pid, left));
  }
  fail(kTimeoutExit, "");
}

// One stack says what went wrong; those of others that crash for the same reason only hide it. They wait until the
// first one's death ends the job.
void Job::on_crash(Rank& rank, int signal) {
  rank.crash = signal;
  const bool first = !crash_seen_;
  crash_seen_ = true;
  if (first && !ending_) {
    pmi_->answer_crash(rank.number, show_crash(rank, signal));
  } else if (options_.keep_going) {
    pmi_->answer_crash(rank.number, true);
  }
  loop_.after(kCrashLimit, [this, &rank] {
    if (!rank.ended && rank.pid > 0) ::kill(rank.pid, SIGKILL);
  });
}

bool Job::show_crash(const Rank& rank, int signal) {
  for (Forwarder& each : forwarders_) each.catch_up();
  const std::string stack = crash_of(rank.pid, kStackLimit);
  if (!stack.empty()) error_.write(this, name_of(rank) + " crashes by signal " + signal_text(signal) + ":\n" + stack);
  return !stack.empty();
}

void Job::receive_pmi(Rank& rank) {
  char chunk[4096];
  for (;;) {
    const ssize_t count = ::recv(rank.pmi.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {  // closed, after finalize or by its end
      loop_.forget(rank.pmi.get());
      rank.pmi.close();
      return;
    }
    rank.pmi_received.append(chunk, static_cast<std::size_t>(count));
    std::size_t start = 0;
    for (std::size_t end; (end = rank.pmi_received.find('\n', start)) != std::string::npos; start = end + 1) {
      pmi_->handle_line(rank.number, std::string_view(rank.pmi_received).substr(start, end - start));
    }
    rank.pmi_received.erase(0, start);
    check_barrier();
  }
}

// A rank that is gone will never come to the barrier that others wait in.
void Job::check_barrier() {
  if (ending_ || !pmi_->anyone_waits()) return;
  for (const Rank& rank : ranks_) {
    if (!rank.ended) continue;
    return fail(1, name_of(rank) + " ended without joining the others in " +
                       (pmi_->finalized(rank.number) ? "their exchange" : "MPI_Init"));
  }
}

void Job::reap() {
  for (Rank& rank : ranks_) {
    siginfo_t information{};
    if (rank.ended || rank.pid < 0) continue;
    // WNOWAIT: the zombie keeps the number of the process group ours.
    if (::waitid(P_PID, static_cast<id_t>(rank.pid), &information, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        information.si_pid == 0) {
      continue;
    }
    // What it said last (finalize, abort) counts.
    if (rank.pmi.is_open()) receive_pmi(rank);
    rank.ended = true;
    --running_;
    judge(rank, information.si_code, information.si_status);
  }
}

void Job::judge_death(const Rank& rank, int signal, bool dumped) {
  // A rank that was killed because it did not get to its end after a crash.
  if (rank.crash != 0 && signal == SIGKILL) signal = rank.crash;
  if (signal == interrupted_by_) return fail(128 + signal, "interrupted by signal " + signal_text(signal));
  fail_rank(128 + signal,
            name_of(rank) + " was killed by signal " + signal_text(signal) + (dumped ? ", core dumped" : ""));
}

void Job::judge(const Rank& rank, int code, int status) {
  if (ending_) return;
  if (code != CLD_EXITED) return judge_death(rank, status, code == CLD_DUMPED);
  const bool finalized = pmi_->finalized(rank.number);
  if (status != 0 && finalized) {
    // The others are past MPI too, or near it: they end by themselves.
    if (exit_code_ == 0) exit_code_ = status;
  } else if (status != 0) {
    const char* when = pmi_->initialised(rank.number) ? " before MPI_Finalize" : "";
    fail_rank(status, name_of(rank) + " exited with code " + std::to_string(status) + when);
  } else if (pmi_->initialised(rank.number) && !finalized) {
    fail_rank(1, name_of(rank) + " exited without calling MPI_Finalize");
  } else {
    check_barrier();
  }
}

void Job::clean_up() {
  signal_all(SIGKILL);
  for (Rank& rank : ranks_) {
    if (rank.pid > 0) ::waitpid(rank.pid, nullptr, 0);
    rank.pid = -1;
  }
  kill_orphans();
  // The writers are gone, so what is in the pipes is all there is.
  bool late = false;
  const auto timer = loop_.after(kLastOutput, [&late] { late = true; });
  while (!late && !forwarders_.empty()) {
    std::erase_if(forwarders_, [](const Forwarder& each) { return each.done(); });
    if (!forwarders_.empty()) loop_.run_once();
  }
  loop_.cancel(timer);
  for (Forwarder& each : forwarders_) each.finish();
  forwarders_.clear();
  output_.flush();
  error_.flush();

  std::set<std::string> directories = {knobs().shm_dir};
  for (const Program& program : options_.programs) {
    for (const auto& [name, value] : program.environment) {
      if (name == "HEADRACE_SHM_DIR") directories.insert(value);
    }
  }
  remove_shared_memory(directories, id_);
}

}  // namespace hr::launcher
