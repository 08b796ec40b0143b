#include "comm/spawn.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/abi.hpp"
#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "boot/port.hpp"
#include "comm/connect.hpp"
#include "comm/core/state.hpp"
#include "comm/failure.hpp"
#include "comm/world/wait_outside.hpp"
#include "p2p/process_failure.hpp"

namespace hr::comm {
namespace {

constexpr double kFailuresLimit = 3;  // seconds

std::unique_ptr<Line> line_over(std::unique_ptr<boot::Channel> channel) {
  return channel != nullptr ? std::make_unique<ChannelLine>(std::move(channel)) : nullptr;
}

// Connects through the root's channel; called on every member.
Status connect_over(Communicator& comm, int root, Status at_root, std::unique_ptr<boot::Channel> channel,
                    Ref<Communicator>* result) {
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  const std::unique_ptr<Line> line = line_over(std::move(channel));
  return connect_groups(members, root, at_root, line.get(), comm.local_, comm.errhandler_, result);
}

// True if processes on other hosts may connect to this one.
bool accepts_remote_processes() { return !boot::identity().one_host || !boot::processes().job_on_one_host(); }

bool names_hosts(const std::vector<boot::SpawnedProgram>& programs) {
  for (const boot::SpawnedProgram& program : programs) {
    for (const auto& [key, value] : program.info) {
      if (key == "host" || key == "hosts" || key == "hostfile" || key == "add-host") return true;
    }
  }
  return false;
}

// Returns an error if the root should stop waiting for an outside event: a member of its group has failed, or the
// communicator has been revoked. The other members, which wait for the root, return the same error.
Status check_may_send(const Communicator& comm) { return p2p::may_send(comm.context() + kCreationContext); }

// Progress of a spawn.
enum class Stage : std::uint8_t { kRefusedHere, kAskedFor, kStarted };

// The job of one call of spawn(), at the root.
struct Asked {
  Asked() = default;
  ~Asked() {
    if (stage != Stage::kRefusedHere) boot::end_spawn(job);
  }
  Asked(const Asked&) = delete;

  Stage stage = Stage::kRefusedHere;
  boot::SpawnedJob job;
};

// Called at the root: starts the programs, and waits until their first process connects.
Status start(const Communicator& comm, const std::vector<boot::SpawnedProgram>& programs, Asked* asked,
             std::unique_ptr<boot::Channel>* channel) {
  boot::Port port;
  HR_TRY(port.open(accepts_remote_processes() || names_hosts(programs)));
  wait_outside([] { return !boot::spawn_pending(); });  // that of another thread
  HR_TRY(boot::begin_spawn(programs, port.name()));
  asked->stage = Stage::kAskedFor;
  Status status = kOk;
  bool done = false;
  wait_outside([&] {
    status = boot::spawn_done(&done, &asked->job);
    return done || !status.ok();
  });
  HR_TRY(status);
  wait_outside([&] {
    *channel = port.accept();
    if (*channel == nullptr) status = boot::spawned_status(asked->job);
    if (*channel == nullptr && status.ok()) status = check_may_send(comm);
    return *channel != nullptr || !status.ok();
  });
  if (status.ok()) asked->stage = Stage::kStarted;
  return status;
}

Status no_such_port(const std::string& name) {
  return fail(Errc::kPort, "%s is not an open port of this process (MPI_Open_port)", boot::shown_port(name).c_str());
}

std::vector<OpenPort>::iterator find_port(const std::string& name) {
  return std::find_if(state->ports.begin(), state->ports.end(),
                      [&](const OpenPort& each) { return each.port->name() == name; });
}

// Reports a process failure since the port was opened, including one before this call, if the job survives failures.
// The failed process may have been about to connect; the caller decides whether to wait for another one.
Status check_failures(OpenPort& open) {
  const std::span<const int> failed = p2p::failed_processes();
  if (failed.size() == open.failures_reported) return kOk;
  open.failures_reported = failed.size();
  return fail(Errc::kProcFailed,
              "process %d, which may have been about to connect, has failed; call MPI_Comm_accept again to wait for "
              "others",
              failed.back());
}

Status accept_at(const Communicator& comm, const std::string& name, std::unique_ptr<boot::Channel>* channel) {
  Status status = kOk;
  wait_outside([&] {
    // Another thread may close the port.
    const auto open = find_port(name);
    if (open == state->ports.end()) {
      status = no_such_port(name);
      return true;
    }
    *channel = open->port->accept();
    if (*channel == nullptr) status = check_may_send(comm);
    if (*channel == nullptr && status.ok()) status = check_failures(*open);
    return *channel != nullptr || !status.ok();
  });
  return status;
}

// Waits until the other side sends its greeting, the time is up, the connection ends, or the call is abandoned.
Status greet(const Communicator& comm, boot::Channel& channel, double end, Status* abandoned) {
  Status status = kOk;
  wait_outside([&] {
    status = channel.step();
    if (status.ok() && !channel.greeted()) *abandoned = check_may_send(comm);
    return channel.greeted() || !status.ok() || !abandoned->ok() || now_seconds() > end;
  });
  return status;
}

// Connects and waits for the greeting, which the other side sends when it accepts. A port with too many callers at once
// drops some of them; the dropped callers call again.
Status call_port(const Communicator& comm, const std::string& name, double seconds,
                 std::unique_ptr<boot::Channel>* channel) {
  constexpr int kCalls = 5;
  constexpr double kPause = 0.1;
  const double end = now_seconds() + seconds;
  Status status = kOk, abandoned = kOk;
  for (int call = 1; call <= kCalls; ++call) {
    HR_TRY(boot::dial(name, channel));
    status = greet(comm, **channel, end, &abandoned);
    HR_TRY(abandoned);
    if (status.ok() || status.errc() == Errc::kPort || call == kCalls) break;
    const double again = now_seconds() + kPause * call;
    wait_outside([&] { return now_seconds() > again; });
  }
  if (status.ok() && (*channel)->greeted()) return kOk;
  const std::string port = boot::shown_port(name);
  if (status.ok()) {
    return fail(
        Errc::kPort,
        "nobody accepted at %s within %g s (HEADRACE_CONNECT_TIMEOUT, or the info key timeout): has the process "
        "that opened it called MPI_Comm_accept?",
        port.c_str(), seconds);
  }
  const std::string why = take_detail();
  return fail(Errc::kPort, "%s did not accept this connection: %s", port.c_str(), why.c_str());
}

// Called after a failed spawn, on every member: sets the error codes of the processes that failed, or of all if it is
// not known which failed. A process may end a little later than the connection to it, so the root waits a while.
void note_failures(Communicator& comm, int root, const Asked& asked, Status code, std::vector<int>* codes) {
  Blob told;
  if (comm.rank() == root && asked.stage != Stage::kRefusedHere) {
    bool known = false;
    std::vector<int> failed;
    const double end = now_seconds() + (asked.stage == Stage::kStarted ? kFailuresLimit : 0);
    wait_outside([&] {
      failed = boot::spawned_failures(asked.job, &known);
      return known || now_seconds() > end;
    });
    told.resize(failed.size() * sizeof(int));
    if (!failed.empty()) std::memcpy(told.data(), failed.data(), told.size());
  }
  const Participants participants(comm);
  if (!tell(participants.next_creation(comm), root, kOk, &told).ok()) told.clear();
  std::vector<int> failed(told.size() / sizeof(int));
  if (!failed.empty()) std::memcpy(failed.data(), told.data(), told.size());
  std::fill(codes->begin(), codes->end(), failed.empty() ? code.code() : 0);
  for (const int rank : failed) {
    if (rank >= 0 && static_cast<std::size_t>(rank) < codes->size())
      (*codes)[static_cast<std::size_t>(rank)] = code.code();
  }
}

}  // namespace

Status spawn(Communicator& comm, int root, Status at_root, const std::vector<boot::SpawnedProgram>& programs,
             std::vector<int>* codes, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  std::unique_ptr<boot::Channel> channel;
  Blob told;
  Asked asked;
  const bool is_root = comm.rank() == root;
  if (is_root) {
    if (at_root.ok()) at_root = start(comm, programs, &asked, &channel);
    const int count = std::accumulate(programs.begin(), programs.end(), 0,
                                      [](int sum, const boot::SpawnedProgram& each) { return sum + each.processes; });
    const int words[2] = {count, at_root.code()};
    told.resize(sizeof words);
    std::memcpy(told.data(), words, sizeof words);
  }
  {
    const Participants participants(comm);
    HR_TRY(tell(participants.next_creation(comm), root, kOk, &told));
  }
  int words[2] = {};
  std::memcpy(words, told.data(), sizeof words);
  codes->assign(static_cast<std::size_t>(std::max(words[0], 0)), words[1]);
  const Status connected = connect_over(comm, root, at_root, std::move(channel), result);
  if (connected.ok()) return kOk;
  std::string why = take_detail();
  note_failures(comm, root, asked, words[1] == 0 ? Status(Errc::kSpawn) : Status::from_code(words[1]), codes);
  set_detail(std::move(why));
  // If the children were started but did not connect, the error is MPI_ERR_SPAWN, unless a member of this group has
  // failed.
  return words[1] == 0 && !is_revoked(comm) && failed_members(comm)->size() == 0 ? Status(Errc::kSpawn) : connected;
}

Status connect_parent() {
  std::string port;
  HR_TRY(boot::parent_port(&port));
  if (port.empty()) return kOk;
  std::unique_ptr<boot::Channel> channel;
  const Status at_root =
      world()->rank() == 0 ? call_port(*world(), port, std::numeric_limits<double>::infinity(), &channel) : kOk;
  Ref<Communicator> made;
  HR_TRY(connect_over(*world(), 0, at_root, std::move(channel), &made));
  made->name_ = "MPI_COMM_PARENT";
  state->parent = made.detach();
  return kOk;
}

Communicator* parent() noexcept { return state != nullptr ? state->parent : nullptr; }

Status open_port(std::string* name) {
  auto port = std::make_unique<boot::Port>();
  HR_TRY(port->open(accepts_remote_processes()));
  *name = port->name();
  state->ports.push_back({std::move(port), p2p::failed_processes().size()});
  return kOk;
}

Status close_port(const std::string& name) {
  const auto port = find_port(name);
  if (port == state->ports.end()) return no_such_port(name);
  state->ports.erase(port);
  return kOk;
}

Status accept(Communicator& comm, int root, const std::string& port, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  std::unique_ptr<boot::Channel> channel;
  const Status at_root = comm.rank() == root ? accept_at(comm, port, &channel) : kOk;
  return connect_over(comm, root, at_root, std::move(channel), result);
}

Status connect(Communicator& comm, int root, const std::string& port, double seconds, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  std::unique_ptr<boot::Channel> channel;
  const double limit = seconds >= 0 ? seconds : knobs().connect_timeout;
  const Status at_root = comm.rank() == root ? call_port(comm, port, limit, &channel) : kOk;
  return connect_over(comm, root, at_root, std::move(channel), result);
}

Status join(int socket, Ref<Communicator>* result) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return fail(Errc::kArg, "descriptor %d is not a connected stream socket%s%s", socket, errno != 0 ? ": " : "",
                errno != 0 ? std::strerror(errno) : "");
  }
  auto channel = std::make_unique<boot::Channel>(socket, false, boot::Channel::Greeting{});
  return connect_over(*self(), 0, kOk, std::move(channel), result);
}

}  // namespace hr::comm
