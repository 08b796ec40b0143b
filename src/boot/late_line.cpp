#include "boot/late_line.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

#include "boot/pmi1_wire.hpp"

namespace hr::boot {
namespace {

constexpr int kAnswerLimit = 20000;  // ms

// Removes and returns the part up to the next ':'.
std::string_view next_part(std::string_view* rest) {
  const auto end = rest->find(':');
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return part;
}

template <class Number>
bool read_number(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

class Socket {
 public:
  Socket() : number_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool connect_to(int socket, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

// Reads one line, and nothing after it; false if none arrives in time.
bool receive_line(int socket, std::string* line) {
  line->clear();
  for (char letter = 0; line->size() < 1024; *line += letter) {
    pollfd state{socket, POLLIN, 0};
    if (::poll(&state, 1, kAnswerLimit) != 1 || ::recv(socket, &letter, 1, 0) != 1) return false;
    if (letter == '\n') return true;
  }
  return false;
}

constexpr const char* kWhy =
    "the parent of this program closed the descriptor of PMI_FD (Python's subprocess does, unless close_fds=False)";

// Returns why mpiexec dropped the connection.
std::string why_dropped(int socket) {
  ucred mpiexec{};
  socklen_t length = sizeof mpiexec;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &mpiexec, &length) == 0 && mpiexec.uid != ::geteuid())
    return "mpiexec runs as user " + std::to_string(mpiexec.uid) + ", and this program as user " +
           std::to_string(::geteuid()) + " (in a container: --user " + std::to_string(mpiexec.uid) + ")";
  return std::string(kWhy) + ", and another was requested";
}

}  // namespace

std::string LateLine::text() const {
  return std::to_string(inode) + ":" + std::to_string(launcher) + ":" + std::to_string(space) + ":" + name + ":" +
         secret;
}

bool LateLine::read(std::string_view text, LateLine* line) {
  const bool numbers = read_number(next_part(&text), &line->inode) && read_number(next_part(&text), &line->launcher) &&
                       read_number(next_part(&text), &line->space);
  line->name = next_part(&text);
  line->secret = text;
  return numbers && !line->name.empty() && !line->secret.empty();
}

std::uint64_t inode_of(int socket) noexcept {
  struct stat state{};
  return ::fstat(socket, &state) == 0 && S_ISSOCK(state.st_mode) ? state.st_ino : 0;
}

std::uint64_t space_of_processes() noexcept {
  struct stat state{};
  return ::stat("/proc/self/ns/pid", &state) == 0 ? state.st_ino : 0;
}

Late join_late(const LateLine& line, int rank, int* socket) {
  Socket own;
  if (own.get() < 0 || !connect_to(own.get(), line.name)) {
    // The variable may have outlived its job. In a container with its own process ids, the launcher's id means nothing.
    if (space_of_processes() == line.space && ::kill(line.launcher, 0) != 0 && errno == ESRCH) return Late::kNone;
    static_cast<void>(fail(Errc::kOther,
                           "boot: this program is part of rank %d and cannot reach mpiexec: %s, and this process is in "
                           "another network namespace or may open no sockets",
                           rank, kWhy));
    return Late::kFailed;
  }
  const std::string handshake = "cmd=join rank=" + std::to_string(rank) + " secret=" + line.secret + "\n";
  std::string answer;
  const bool sent =
      ::send(own.get(), handshake.data(), handshake.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(handshake.size());
  if (!sent || !receive_line(own.get(), &answer)) {
    static_cast<void>(fail(Errc::kOther, "boot: mpiexec does not reply: %s", why_dropped(own.get()).c_str()));
    return Late::kFailed;
  }
  const WireMessage reply(answer);
  if (reply.number("rc", -1) == 0) {
    *socket = own.release();
    return Late::kJoined;
  }
  if (reply.number("alone", 0) == 1) return Late::kNone;
  const std::string busy = std::to_string(reply.number("busy", 0));
  static_cast<void>(
      busy != "0"
          ? fail(Errc::kOther,
                 "boot: another program of rank %d (pid %s) has called MPI_Init but not MPI_Finalize; the "
                 "programs of one rank run one after another",
                 rank, busy.c_str())
          : fail(Errc::kOther, "boot: mpiexec does not accept this program as rank %d: %s", rank, answer.c_str()));
  return Late::kFailed;
}

}  // namespace hr::boot
