#include "boot/own_launcher.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace hr::boot {
namespace {

// Returns the directory of the file that contains this code.
std::string own_folder() {
  Dl_info information{};
  static const char here = 0;
  if (::dladdr(&here, &information) == 0 || information.dli_fname == nullptr) return {};
  char* const real = ::realpath(information.dli_fname, nullptr);
  std::string path = real != nullptr ? real : information.dli_fname;
  std::free(real);
  return path.substr(0, path.rfind('/'));
}

// Finds mpiexec in bin/, a sibling of lib/ or lib64/, or of the parent of lib/<architecture>/.
Status find_mpiexec(std::string* path) {
  const std::string folder = own_folder();
  for (const char* relative : {"/../bin/mpiexec", "/../../bin/mpiexec"}) {
    *path = folder + relative;
    if (::access(path->c_str(), X_OK) == 0) return kOk;
  }
  return fail(Errc::kSpawn,
              "no mpiexec to start processes with: there is none in %s/../bin; start the program with mpiexec -n 1",
              folder.c_str());
}

// Attributes of the new process: a separate process group, which the terminal's signals do not reach, and an empty
// signal mask.
struct Attributes {
  Attributes() {
    ::posix_spawnattr_init(&value);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    ::posix_spawnattr_setpgroup(&value, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&value, &none);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

}  // namespace

Status OwnLauncher::start() {
  if (started()) return kOk;
  std::string path;
  HR_TRY(find_mpiexec(&path));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(Errc::kSpawn, "no socket for an mpiexec of this process: %s", std::strerror(errno));
  }
  // mpiexec receives the descriptor of the other end as an argument.
  const int theirs = ::fcntl(ends[1], F_DUPFD, 3);
  ::close(ends[1]);
  const std::string number = std::to_string(theirs);
  std::vector<char*> arguments;
  std::string words[] = {path, "--serve", number};
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const Attributes attributes;
  pid_t pid = -1;
  const int reason = ::posix_spawn(&pid, path.c_str(), nullptr, &attributes.value, arguments.data(), environ);
  ::close(theirs);
  if (reason != 0) {
    ::close(ends[0]);
    return fail(Errc::kSpawn, "%s could not be started for this process: %s", path.c_str(), std::strerror(reason));
  }
  helper_ = pmi1_over(ends[0]);
  const Status status = helper_->connect_to_helper();
  // Waits only for the child, which exits after it has forked a daemon.
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!status.ok()) helper_.reset();
  return status;
}

Status OwnLauncher::finalize() { return started() ? helper_->finalize() : kOk; }

}  // namespace hr::boot
