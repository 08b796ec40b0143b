#include "system/guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "system/cleanup.hpp"
#include "system/late_clients.hpp"

namespace hr::launcher {
namespace {

constexpr std::chrono::seconds kLimit{10};  // limit for processes that sleep in the kernel, which may take long to end
constexpr useconds_t kPause = 20'000;       // pause between two checks for remaining processes

void close_others() {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0) return;
#endif
  constexpr int kMost = 1024;  // mpiexec has opened only a few descriptors so far
  for (int each = STDERR_FILENO + 1; each < kMost; ++each) ::close(each);
}

// Waits for the end of mpiexec. Returns true if mpiexec ended normally.
bool ended_normally(int pipe) {
  for (;;) {
    char word = 0;
    const ssize_t count = ::read(pipe, &word, 1);
    if (count == 1) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

[[noreturn]] void watch(int pipe, const std::string& job, const std::set<std::string>& directories) {
  ::setsid();
  ::prctl(PR_SET_NAME, "hr-guard");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // Closes mpiexec's output, so that its reader does not wait for the guard.
  ::dup2(pipe, STDIN_FILENO);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  close_others();
  [[maybe_unused]] const int ignored = ::chdir("/");
  if (ended_normally(STDIN_FILENO)) ::_exit(0);
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (kill_processes_with(job_secret()) != 0 && std::chrono::steady_clock::now() < deadline) ::usleep(kPause);
  remove_shared_memory(directories, job);
  ::_exit(0);
}

}  // namespace

void Guard::start(const std::string& job, const std::set<std::string>& directories) {
  int ends[2];
  job_secret();
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const Descriptor theirs(ends[0]);
  pipe_ = Descriptor(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    pipe_.close();
    watch(theirs.get(), job, directories);
  }
  if (pid_ < 0) pipe_.close();
}

Guard::~Guard() {
  if (pid_ <= 0) return;
  [[maybe_unused]] const ssize_t written = ::write(pipe_.get(), "e", 1);
  pipe_.close();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace hr::launcher
