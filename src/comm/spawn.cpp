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
#include "comm/state.hpp"
#include "comm/wait_outside.hpp"

namespace hr::comm {
namespace {

std::unique_ptr<Line> line_over(std::unique_ptr<boot::Channel> channel) {
  return channel != nullptr ? std::make_unique<ChannelLine>(std::move(channel)) : nullptr;
}

// The caller's side of connecting over what the root has.
Status connect_over(Communicator& comm, int root, Status at_root, std::unique_ptr<boot::Channel> channel,
                    Ref<Communicator>* result) {
  const Participants participants(comm);
  const Members members = participants.next_creation(comm);
  const std::unique_ptr<Line> line = line_over(std::move(channel));
  return connect_groups(members, root, at_root, line.get(), comm.local_, comm.errhandler_, result);
}

// Processes on other hosts may come to this one.
bool may_come_from_elsewhere() { return !boot::identity().one_host || !boot::processes().job_on_one_host(); }

bool names_hosts(const std::vector<boot::SpawnedProgram>& programs) {
  for (const boot::SpawnedProgram& program : programs) {
    for (const auto& [key, value] : program.info) {
      if (key == "host" || key == "hosts" || key == "hostfile" || key == "add-host") return true;
    }
  }
  return false;
}

// At the root: starts them, and waits for their first process to come.
Status start(const std::vector<boot::SpawnedProgram>& programs, std::unique_ptr<boot::Channel>* channel) {
  boot::Port port;
  HR_TRY(port.open(may_come_from_elsewhere() || names_hosts(programs)));
  HR_TRY(boot::begin_spawn(programs, port.name()));
  Status status = kOk;
  bool done = false;
  wait_outside([&] {
    status = boot::spawn_done(&done);
    return done || !status.ok();
  });
  HR_TRY(status);
  wait_outside([&] {
    *channel = port.accept();
    if (*channel == nullptr) status = boot::spawned_are_there();
    return *channel != nullptr || !status.ok();
  });
  return status;
}

Status no_such_port(const std::string& name) {
  return fail(Errc::kPort, "%s is no open port of this process (MPI_Open_port)", boot::shown_port(name).c_str());
}

std::vector<std::unique_ptr<boot::Port>>::iterator find_port(const std::string& name) {
  return std::find_if(state->ports.begin(), state->ports.end(),
                      [&](const std::unique_ptr<boot::Port>& each) { return each->name() == name; });
}

Status accept_at(const std::string& name, std::unique_ptr<boot::Channel>* channel) {
  Status status = kOk;
  wait_outside([&] {
    // Another thread may close it.
    const auto port = find_port(name);
    if (port == state->ports.end()) {
      status = no_such_port(name);
      return true;
    }
    *channel = (*port)->accept();
    return *channel != nullptr;
  });
  return status;
}

// Until the other side greets, the time is up, or the connection ends.
Status greet(boot::Channel& channel, double end) {
  Status status = kOk;
  wait_outside([&] {
    status = channel.step();
    return channel.greeted() || !status.ok() || now_seconds() > end;
  });
  return status;
}

// Until the other side greets: it does when it accepts. One that has too many callers at once drops some, and these
// come again.
Status call_port(const std::string& name, double seconds, std::unique_ptr<boot::Channel>* channel) {
  constexpr int kCalls = 5;
  constexpr double kPause = 0.1;
  const double end = now_seconds() + seconds;
  Status status = kOk;
  for (int call = 1; call <= kCalls; ++call) {
    HR_TRY(boot::dial(name, channel));
    status = greet(**channel, end);
    if (status.ok() || status.errc() == Errc::kPort || call == kCalls) break;
    const double again = now_seconds() + kPause * call;
    wait_outside([&] { return now_seconds() > again; });
  }
  if (status.ok() && (*channel)->greeted()) return kOk;
  const std::string port = boot::shown_port(name);
  if (status.ok()) {
    return fail(Errc::kPort,
                "nobody accepted at %s within %g s (HEADRACE_CONNECT_TIMEOUT): has the process "
                "that opened it called MPI_Comm_accept?",
                port.c_str(), seconds);
  }
  const std::string why = take_detail();
  return fail(Errc::kPort, "%s did not take this connection: %s", port.c_str(), why.c_str());
}

}  // namespace

Status spawn(Communicator& comm, int root, Status at_root, const std::vector<boot::SpawnedProgram>& programs,
             std::vector<int>* codes, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  std::unique_ptr<boot::Channel> channel;
  Blob told;
  const bool is_root = comm.rank() == root;
  if (is_root) {
    if (at_root.ok()) at_root = start(programs, &channel);
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
  return connect_over(comm, root, at_root, std::move(channel), result);
}

Status meet_parent() {
  std::string port;
  HR_TRY(boot::parent_port(&port));
  if (port.empty()) return kOk;
  std::unique_ptr<boot::Channel> channel;
  const Status at_root =
      world()->rank() == 0 ? call_port(port, std::numeric_limits<double>::infinity(), &channel) : kOk;
  Ref<Communicator> made;
  HR_TRY(connect_over(*world(), 0, at_root, std::move(channel), &made));
  made->name_ = "MPI_COMM_PARENT";
  state->parent = made.detach();
  return kOk;
}

Communicator* parent() noexcept { return state != nullptr ? state->parent : nullptr; }

Status open_port(std::string* name) {
  auto port = std::make_unique<boot::Port>();
  HR_TRY(port->open(may_come_from_elsewhere()));
  *name = port->name();
  state->ports.push_back(std::move(port));
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
  const Status at_root = comm.rank() == root ? accept_at(port, &channel) : kOk;
  return connect_over(comm, root, at_root, std::move(channel), result);
}

Status connect(Communicator& comm, int root, const std::string& port, Ref<Communicator>* result) {
  HR_TRY(check_intra(comm));
  std::unique_ptr<boot::Channel> channel;
  const Status at_root = comm.rank() == root ? call_port(port, knobs().connect_timeout, &channel) : kOk;
  return connect_over(comm, root, at_root, std::move(channel), result);
}

Status join(int socket, Ref<Communicator>* result) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return fail(Errc::kArg, "descriptor %d is no connected stream socket%s%s", socket, errno != 0 ? ": " : "",
                errno != 0 ? std::strerror(errno) : "");
  }
  auto channel = std::make_unique<boot::Channel>(socket, false, boot::Channel::Greeting{});
  return connect_over(*self(), 0, kOk, std::move(channel), result);
}

}  // namespace hr::comm
