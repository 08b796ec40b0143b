#include "system/signals.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <cstring>
#include <string>

namespace hr::launcher {

Signals::Signals(EventLoop& loop, std::function<void(int)> handler) : loop_(loop), handler_(std::move(handler)) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    // A signal that was ignored when mpiexec was started (nohup, a shell's background job) stays ignored.
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    if (signal == SIGCHLD || action.sa_handler != SIG_IGN) ::sigaddset(&set, signal);
  }
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTTOU, SIG_IGN);  // a background job may write to its terminal
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` then fails, and the failure is reported
  descriptor_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  loop_.watch(descriptor_.get(), EPOLLIN, [this] {
    signalfd_siginfo information{};
    while (::read(descriptor_.get(), &information, sizeof information) == sizeof information) {
      handler_(static_cast<int>(information.ssi_signo));
    }
  });
}

Signals::~Signals() { loop_.forget(descriptor_.get()); }

void expect_children() noexcept {
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
}

bool stays_ignored(int signal) noexcept {
  return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGUSR1 ||
         signal == SIGUSR2;
}

std::string signal_text(int signal) {
  const char* words = ::sigdescr_np(signal);
  return std::to_string(signal) + (words != nullptr ? std::string(" (") + words + ")" : "");
}

}  // namespace hr::launcher
