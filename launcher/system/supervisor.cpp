#include "system/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "system/cleanup.hpp"
#include "system/descriptor.hpp"
#include "system/signals.hpp"

namespace hr::launcher {

struct Supervisor::Notes {
  char job[256];
  char directories[8192];  // directories, each ending with '\0', with an empty one after the last
};

namespace {

constexpr int kLastWords = 5000;  // milliseconds that an agent gets after it has lost its connection

std::set<std::string> texts_of(const char* from) {
  std::set<std::string> texts;
  for (; *from != '\0'; from += std::strlen(from) + 1) texts.insert(from);
  return texts;
}

// Waits until the agent has ended. Kills an agent that has lost its connection and does not end within a few seconds.
void wait_or_kill(pid_t agent) {
  const Descriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, agent, 0)));
  if (!ended.is_open()) return;
  pollfd states[2] = {{ended.get(), POLLIN, 0}, {STDIN_FILENO, POLLRDHUP, 0}};
  while (states[0].revents == 0 && states[1].revents == 0) ::poll(states, 2, -1);
  if (states[0].revents != 0 || ::poll(states, 1, kLastWords) == 1) return;
  ::kill(agent, SIGKILL);
}

[[noreturn]] void keep(pid_t agent, const char* job, const char* directories) {
  wait_or_kill(agent);
  int status = 0;
  while (::waitpid(agent, &status, 0) < 0 && errno == EINTR) {
  }
  kill_orphans({});
  if (*job != '\0') remove_shared_memory(texts_of(directories), job);
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  // The process that started the agent shows this as the reason.
  std::fprintf(stderr, "its mpiexec was killed by signal %s\n", signal_text(WTERMSIG(status)).c_str());
  ::_exit(128 + WTERMSIG(status));
}

}  // namespace

bool Supervisor::start() {
  void* memory = ::mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  notes_ = static_cast<Notes*>(memory);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t supervisor = ::getpid();
  const pid_t agent = ::fork();
  if (agent > 0) {
    ::setpgid(agent,
              agent);  // signals to the supervisor's group then end only the supervisor, and the agent ends normally
    keep(agent, notes_->job, notes_->directories);
  }
  if (agent < 0) return false;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != supervisor) ::_exit(1);
  return true;
}

void Supervisor::note(const std::string& job, const std::set<std::string>& directories) {
  if (notes_ == nullptr || job.size() >= sizeof notes_->job) return;
  std::string all;
  for (const std::string& each : directories) all += each + '\0';
  if (all.size() >= sizeof notes_->directories) return;
  std::memcpy(notes_->directories, all.data(), all.size());
  std::memcpy(notes_->job, job.data(), job.size());
}

}  // namespace hr::launcher
