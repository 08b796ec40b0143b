#include "host/host_ranks.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "host/stacks.hpp"
#include "output/saved_counters.hpp"
#include "plan/spawn_request.hpp"
#include "system/cleanup.hpp"

namespace hr::launcher {
namespace {

constexpr std::chrono::milliseconds kStackLimit{10000};
constexpr std::chrono::milliseconds kCrashLimit{10000};  // from the answer to a crashing rank to its death
// Time for a copy of a rank's process to become another program, or to call MPI_Init.
constexpr std::chrono::milliseconds kBackgroundLimit{1000};
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;  // bytes read from a rank before others have their turn

// Returns the variable by which the processes of a rank are found, with the '\0' that ends it in an environment.
std::string variable_of(const Rank& rank) { return "PMI_RANK=" + std::to_string(rank.number) + '\0'; }

}  // namespace

HostRanks::HostRanks(EventLoop& loop, const JobPlan& plan, int host, Callbacks callbacks)
    : loop_(loop),
      plan_(plan),
      host_(host),
      callbacks_(std::move(callbacks)),
      map_(plan.visible_map()),
      late_(loop, {[this](int number, pid_t pid) { return judge_late(number, pid); },
                   [this](int number, Descriptor line) { join_late(number, std::move(line)); }}),
      input_(loop, [this] { callbacks_.post({.kind = Message::Kind::kInputTaken}); }),
      background_(loop) {
  const std::vector<int> numbers = plan.ranks_of(host);
  ranks_.resize(numbers.size());
  for (std::size_t at = 0; at < numbers.size(); ++at) ranks_[at].number = numbers[at];
  PmiServer::Callbacks answers;
  answers.send = [this](int number, std::string_view line) { send_line(number, line); };
  answers.abort = [this](int number, int code) {
    const Rank& rank = *find(number);
    catch_up(rank);  // shows the reason, which the rank has printed
    post(Message::Kind::kAbort, rank, {rank.pid, code});
  };
  answers.keep_file = [this](int number, int pid, int file) { find(number)->counters = open_page(pid, file); };
  answers.crashed = [this](int number, int signal) { on_crash(*find(number), signal); };
  answers.fence = [this](const std::vector<KeyValue>& values) { exchange(Message::kSpace, values); };
  answers.views = [this](const std::vector<KeyValue>& views) { exchange(Message::kViews, views); };
  answers.ask = [this](const std::string& key) { callbacks_.post({.kind = Message::Kind::kAsk, .text = key}); };
  answers.spawn = [this](int number, const SpawnRequest& request) {
    callbacks_.post({.kind = Message::Kind::kSpawn, .host = host_, .rank = number, .text = encode(request)});
  };
  answers.name = [this](int number, int what, std::string_view service, std::string_view port) {
    callbacks_.post({.kind = Message::Kind::kName,
                     .host = host_,
                     .rank = number,
                     .numbers = {what},
                     .text = pack({{std::string(service), std::string(port)}}).front()});  // the only pair
  };
  answers.answer = [this](const std::vector<KeyValue>& values) {
    for (std::string& part : pack(values)) {
      callbacks_.post({.kind = Message::Kind::kAnswer, .text = std::move(part)});
    }
  };
  pmi_ = std::make_unique<PmiServer>(plan.id, plan.appnums(), map_, numbers, plan.declared_hosts > 1 ? plan.ranks() : 0,
                                     plan.keep_going ? host : -1, plan.one_host, std::move(answers));
  pmi_->give(plan.given);
  pmi_->set_universe(plan.universe);
}

HostRanks::~HostRanks() {
  for (const Rank& rank : ranks_) {
    if (rank.pmi.is_open()) loop_.forget(rank.pmi.get());
    if (rank.inherited.is_open()) loop_.forget(rank.inherited.get());
    if (rank.in_background) loop_.cancel(rank.background_limit);
  }
}

// Sends without waiting. A rank sends one request at a time and reads the answer, so there is space unless the rank
// has ended.
void HostRanks::send_line(int number, std::string_view line) {
  const std::string text = std::string(line) + "\n";
  const Rank* rank = find(number);
  if (rank != nullptr) ::send(rank->pmi.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void HostRanks::exchange(int which, const std::vector<KeyValue>& pairs) {
  for (std::string& part : pack(pairs)) {
    callbacks_.post({.kind = Message::Kind::kValues, .numbers = {which}, .text = std::move(part)});
  }
  callbacks_.post({.kind = Message::Kind::kFence, .numbers = {which}});
}

void HostRanks::problem(int exit_code, const std::string& text, int program) {
  callbacks_.post({.kind = Message::Kind::kProblem, .host = host_, .numbers = {exit_code, program + 1}, .text = text});
}

void HostRanks::post(Message::Kind kind, const Rank& rank, std::array<int, 4> numbers, std::string text) {
  callbacks_.post({.kind = kind, .host = host_, .rank = rank.number, .numbers = numbers, .text = std::move(text)});
}

Rank* HostRanks::find(int number) {
  const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), number,
                                      [](const Rank& rank, int wanted) { return rank.number < wanted; });
  return found != ranks_.end() && found->number == number ? &*found : nullptr;
}

void HostRanks::handle(const Message& message) {
  using Kind = Message::Kind;
  std::vector<KeyValue> values;
  switch (message.kind) {
    case Kind::kSignal:
      ending_ = ending_ || message.numbers[1] == 1;
      signal_all(message.numbers[0]);
      return message.numbers[0] == SIGKILL ? give_up_background() : void();
    case Kind::kInput:
      return input_.write(message.text);
    case Kind::kValues:
    case Kind::kAnswer:
      if (!unpack(message.text, &values)) return;
      if (message.kind == Kind::kAnswer || message.numbers[0] == Message::kSpace) return pmi_->publish(values);
      if (values.size() == 1) pmi_->tell_hosts(values[0].second);
      return;
    case Kind::kFence:
      return message.numbers[0] == Message::kSpace ? pmi_->leave_fence() : void();
    case Kind::kWanted:
      return pmi_->want(message.text);
    case Kind::kReply:
      return send_line(message.rank, message.text);
    case Kind::kLeft:
      if (!message.text.empty()) return mark_failed(message.rank, message.text);
      someone_left_ = true;
      return check_stuck();
    case Kind::kWhere: {
      const Rank* rank = find(message.rank);
      if (rank == nullptr || rank->pid <= 0 || rank->ended) return;
      const pid_t pid = program_of(*rank);
      const auto limit = std::chrono::milliseconds(message.numbers[0]);
      return background_.run([pid, limit] { return where_is(pid, limit); },
                             [this, rank](const std::string& text) { post(Kind::kWhereIs, *rank, {rank->pid}, text); });
    }
    default:
      return;
  }
}

void HostRanks::catch_up() {
  for (Forwarder& each : forwarders_) each.catch_up();
}

void HostRanks::catch_up(const Rank& rank) {
  for (Forwarder* each : rank.outputs) {
    if (each != nullptr) each->catch_up();
  }
}

void HostRanks::signal_all(int signal) {
  bool finds_programs = false;  // true if the program of some rank is not known yet
  for (const Rank& rank : ranks_) {
    if (rank.pid <= 0) continue;
    // The process group of a rank that has ended may still exist; its number stays reserved while the zombie is kept.
    ::kill(-rank.pid, signal);
    if (rank.ended) continue;
    // A wrapper may have put the program into another group (setsid).
    const pid_t program = program_of(rank);
    const pid_t group = ::getpgid(program);
    if (program != rank.pid && group > 0 && group != rank.pid && group != ::getpgrp()) ::kill(-group, signal);
    finds_programs |= program == rank.pid && !pmi_->initialised(rank.number);
  }
  if (finds_programs && !callbacks_.has_other_jobs()) signal_outside(signal);
}

// Signals the ranks' processes that are in no rank's process group: whole groups, as a process that is being forked
// cannot be found otherwise.
void HostRanks::signal_outside(int signal) {
  std::set<pid_t> groups;
  for_each_process_with(job_secret(), "PMI_RANK=", [&](pid_t process) {
    const pid_t group = ::getpgid(process);
    const bool is_inside = std::ranges::any_of(ranks_, [group](const Rank& rank) { return rank.pid == group; });
    if (is_inside || group <= 0) return;
    if (group == ::getpgrp()) {
      ::kill(process, signal);
    } else if (groups.insert(group).second) {
      ::kill(-group, signal);
    }
  });
}

// Shows only the first stack, which explains the failure; stacks of other ranks that crash for the same reason would
// hide it. These ranks wait until the first one's death ends the job.
void HostRanks::on_crash(Rank& rank, int signal) {
  rank.crash = signal;
  const auto end_by_force = [this, &rank] {
    loop_.after(kCrashLimit, [this, &rank] {
      if (rank.ended || rank.pid <= 0) return;
      ::kill(rank.pid, SIGKILL);
      if (rank.in_background) ::kill(program_of(rank), SIGKILL);
    });
  };
  const bool first = !std::exchange(crash_seen_, true);
  if (!first || ending_) {
    if (plan_.keep_going) pmi_->answer_crash(rank.number, true);
    return end_by_force();
  }
  const pid_t pid = program_of(rank);
  background_.run([pid] { return crash_of(pid, kStackLimit); },
                  [this, &rank, signal, end_by_force](const std::string& stack) {
                    catch_up();
                    post(Message::Kind::kCrashed, rank, {rank.pid, signal}, stack);
                    pmi_->answer_crash(rank.number, !stack.empty());
                    end_by_force();
                  });
}

void HostRanks::receive_pmi(Rank& rank) {
  char chunk[16384];
  for (std::size_t taken = 0; taken < kMostAtOnce;) {
    const ssize_t count = ::recv(rank.pmi.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {  // closed: the rank has finalized, or ended
      loop_.forget(rank.pmi.get());
      rank.pmi.close();
      if (rank.inherited.is_open()) return return_to_inherited(rank);
      if (rank.in_background) return end_background(rank);
      return rank.number == 0 && plan_.adopted >= 0 ? end_adopted(rank) : void();
    }
    taken += static_cast<std::size_t>(count);
    rank.pmi_lines.add(std::string_view(chunk, static_cast<std::size_t>(count)),
                       [&](std::string_view line) { pmi_->handle_line(rank.number, line); });
    check_stuck();
  }
}

// --- programs that request a new connection ---

void HostRanks::watch_pmi(Rank& rank) {
  loop_.watch(rank.pmi.get(), EPOLLIN, [this, &rank] { receive_pmi(rank); });
}

// Returns the MPI program of a rank: the rank itself, or a process started by its shell or wrapper. This process
// inherits programs that a wrapper has left in the background.
pid_t HostRanks::program_of(const Rank& rank) const {
  const pid_t client = pmi_->client(rank.number);
  const pid_t above = rank.in_background ? ::getpid() : rank.pid;
  return client > 0 && descends_from(client, above) ? client : rank.pid;
}

std::string HostRanks::judge_late(int number, pid_t pid) {
  const Rank* const rank = find(number);
  if (rank == nullptr || rank->pid <= 0 || rank->ended) return "rc=-1 msg=there_is_no_such_rank_any_more";
  const int client = pmi_->client(number);
  if (!pmi_->initialised(number)) return "rc=0";
  // A program started by an MPI program of the job runs as a job of one process, as it would outside the job.
  if (client > 0 && descends_from(pid, client)) return "rc=-1 alone=1";
  return pmi_->finalized(number) ? "rc=0" : "rc=-1 busy=" + std::to_string(client);
}

void HostRanks::join_late(int number, Descriptor line) {
  Rank& rank = *find(number);
  if (rank.pmi.is_open()) {
    loop_.forget(rank.pmi.get());
    // An earlier program has finalized, and left its connection open.
    if (!rank.inherited.is_open()) rank.inherited = std::move(rank.pmi);
  }
  rank.pmi_lines.forget();
  rank.pmi = std::move(line);
  watch_pmi(rank);
}

void HostRanks::return_to_inherited(Rank& rank) {
  rank.pmi = std::move(rank.inherited);
  rank.pmi_lines.forget();
  watch_pmi(rank);
  if (ending_ || plan_.keep_going || !pmi_->initialised(rank.number) || pmi_->finalized(rank.number)) return;
  problem(1, "the MPI program of rank " + std::to_string(rank.number) + " (pid " +
                 std::to_string(pmi_->client(rank.number)) + ") ended without calling MPI_Finalize");
}

// Reports that ranks wait in a barrier that another rank, which has left, will never enter.
void HostRanks::check_stuck() {
  if (!someone_left_ || stuck_told_ || !pmi_->anyone_waits()) return;
  stuck_told_ = true;
  callbacks_.post({.kind = Message::Kind::kStuck, .host = host_});
}

// Lets the job continue without that rank.
void HostRanks::mark_failed(int rank, const std::string& why) {
  for (boot::FailureBoard& each : boards_) {
    if (!each.post(rank, why)) problem(1, "no memory to notify the others that " + why);
  }
  pmi_->mark_failed(rank);
}

void HostRanks::reap() {
  for (Rank& rank : ranks_) {
    siginfo_t information{};
    if (rank.ended || rank.pid < 0) continue;
    if (rank.in_background) {
      end_background(rank);
      continue;
    }
    // WNOWAIT: the zombie keeps the number of the process group reserved.
    if (::waitid(P_PID, static_cast<id_t>(rank.pid), &information, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        information.si_pid == 0) {
      continue;
    }
    // Handles the rank's last messages (finalize, abort).
    if (rank.pmi.is_open()) receive_pmi(rank);
    const bool succeeded = information.si_code == CLD_EXITED && information.si_status == 0;
    succeeded && !ending_ && left_program(rank) ? leave_in_background(rank) : end(rank, information);
  }
}

// True if a rank's process that has ended may have left its MPI program behind (setsid, "sh -c './program &'"): some
// process holds the connection, and the program still runs or may yet call MPI_Init.
bool HostRanks::left_program(const Rank& rank) const {
  if (!rank.pmi.is_open() || pmi_->finalized(rank.number)) return false;
  const pid_t client = pmi_->client(rank.number);
  return !pmi_->initialised(rank.number) || (client > 0 && client != rank.pid && descends_from(client, ::getpid()));
}

// Lets the rank go on. A copy of its own process (fork without exec) that does not call MPI_Init does not count as its
// program.
void HostRanks::leave_in_background(Rank& rank) {
  rank.in_background = true;
  rank.background_limit = loop_.after(kBackgroundLimit, [this, &rank] {
    if (rank.ended || pmi_->initialised(rank.number)) return;
    bool has_another = false;
    for_each_process_with(job_secret(), variable_of(rank), [&](pid_t process) {
      const std::string file = program_file_of(process);
      has_another |= !file.empty() && file != rank.program_file;
    });
    if (has_another) return;
    siginfo_t information{};
    information.si_code = CLD_EXITED;
    end(rank, information);
  });
}

void HostRanks::end(Rank& rank, const siginfo_t& information) {
  rank.ended = true;
  if (rank.in_background) loop_.cancel(rank.background_limit);
  catch_up(rank);
  const int flags = (pmi_->initialised(rank.number) ? Message::kInitialised : 0) |
                    (pmi_->finalized(rank.number) ? Message::kFinalized : 0) |
                    (pmi_->used_world(rank.number) ? Message::kUsedWorld : 0) | rank.crash << Message::kCrashShift;
  post(Message::Kind::kEnded, rank, {rank.pid, information.si_code, information.si_status, flags});
}

// Ends a rank in the background once nothing holds its connection any more and its program has ended.
void HostRanks::end_background(Rank& rank) {
  if (rank.pmi.is_open()) return;
  siginfo_t information{};
  const pid_t program = pmi_->client(rank.number);
  const bool is_child =
      program > 0 && ::waitid(P_PID, static_cast<id_t>(program), &information, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (is_child && information.si_pid == 0) return;  // the program still runs
  if (!is_child) information.si_code = CLD_EXITED;
  end(rank, information);
}

// Ends the ranks in the background. Their processes have been killed, or will be when everything else here has ended.
void HostRanks::give_up_background() {
  siginfo_t information{};
  information.si_code = CLD_EXITED;
  for (Rank& rank : ranks_) {
    if (rank.in_background && !rank.ended) end(rank, information);
  }
}

// Handles the end of a rank that is not a child of this process, which is detected only when the rank closes its
// socket.
void HostRanks::end_adopted(Rank& rank) {
  if (std::exchange(rank.ended, true)) return;
  const int flags = Message::kInitialised | (pmi_->finalized(rank.number) ? Message::kFinalized : 0);
  post(Message::Kind::kEnded, rank, {0, CLD_EXITED, 0, flags});
}

std::set<pid_t> HostRanks::pids() const {
  std::set<pid_t> all;
  for (const Rank& rank : ranks_) {
    if (rank.pid > 0) all.insert(rank.pid);
  }
  return all;
}

void HostRanks::finish() {
  signal_all(SIGKILL);
  for (Rank& rank : ranks_) {
    if (rank.pid > 0) ::waitpid(rank.pid, nullptr, 0);
    rank.pid = -1;
    rank.ended = true;
  }
  if (!callbacks_.has_other_jobs()) kill_orphans(callbacks_.others());
  // The writers have ended, so the pipes contain all remaining output.
  for (Forwarder& each : forwarders_) each.finish();
  for (Rank& rank : ranks_) rank.outputs = {};
  forwarders_.clear();
  if (plan_.save_counters) {
    for (const Rank& rank : ranks_) {
      std::string page = read_page(rank.counters);
      if (!page.empty()) callbacks_.post({.kind = Message::Kind::kCounters, .host = host_, .text = std::move(page)});
    }
  }
  for (Rank& rank : ranks_) rank.counters.close();
  remove_shared_memory(plan_.shm_directories, plan_.id);
}

}  // namespace hr::launcher
