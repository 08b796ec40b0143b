#include "bind/crash.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/knobs.hpp"
#include "boot/boot.hpp"

namespace hr::bind::crash {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
constexpr int kMostFrames = 64;
constexpr int kOwnFrames = 3;            // show_frames(), on_crash(), and the signal trampoline
constexpr unsigned kSecondsToWrite = 5;  // show_frames() may wait for a loader's lock that was held at the crash

std::atomic<bool> seen{false};
pid_t owner = 0;
int crash_signal = 0;
alignas(64) char stack_of_handler[65536];

void restore_defaults() noexcept {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

void give_up(int) {
  restore_defaults();
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, crash_signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(crash_signal);
}

void write_text(const char* text, int length, std::size_t room) noexcept {
  const auto bytes = std::min(static_cast<std::size_t>(std::max(length, 0)), room - 1);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, bytes);
}

[[gnu::noinline]] void show_frames(int signal) noexcept {
  struct sigaction action{};
  action.sa_handler = give_up;
  ::sigaction(SIGALRM, &action, nullptr);
  ::alarm(kSecondsToWrite);

  const boot::Identity& self = boot::identity();
  const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  char text[512];
  const auto line = [&](const char* format, auto... values) {
    write_text(text, std::snprintf(text, sizeof text, format, self.rank, self.size, values...), sizeof text);
  };
  line("[headrace %d/%d] crashed with signal %d; pid %d, its stack:\n", signal, ::getpid());
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  for (int at = kOwnFrames; at < count; ++at) {
    Dl_info place{};
    const char* name = nullptr;
    if (::dladdr(frames[at], &place) != 0 && place.dli_fname != nullptr) name = place.dli_sname;
    const char* file = place.dli_fname != nullptr ? place.dli_fname : "?";
    const char* slash = std::strrchr(file, '/');
    const std::uintptr_t offset = address(frames[at]) - address(place.dli_fbase);
    if (name != nullptr) {
      line("[headrace %d/%d]   #%d %s in %s\n", at - kOwnFrames, name, file);
    } else {
      line("[headrace %d/%d]   #%d %s+0x%zx\n", at - kOwnFrames, slash != nullptr ? slash + 1 : file, offset);
    }
  }
  ::alarm(0);
}

void on_crash(int signal, siginfo_t* information, void*) {
  // A forked child of a rank has inherited the library's handlers and the connection to the launcher, but is not a
  // rank.
  if (::getpid() == owner) {
    // Other threads that crash meanwhile wait until the process ends.
    while (seen.exchange(true)) ::pause();
    crash_signal = signal;
    if (!boot::show_stack(signal)) show_frames(signal);
  }
  restore_defaults();
  // On return, a faulting instruction faults again, which writes the core file; a signal that was sent must be raised
  // again.
  if (information->si_code <= 0) ::raise(signal);
}

}  // namespace

void watch() noexcept {
  if (!knobs().crash_stack) return;
  owner = ::getpid();
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads now what backtrace() needs
  // The handler needs a separate stack, as the program's may have overflowed.
  stack_t stack{};
  if (::sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
    stack = {};
    stack.ss_sp = stack_of_handler;
    stack.ss_size = sizeof stack_of_handler;
    ::sigaltstack(&stack, nullptr);
  }
  for (const int signal : kSignals) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(signal, &action, nullptr);
  }
}

void unwatch() noexcept {
  for (const int signal : kSignals) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_sigaction != on_crash) continue;
    now = {};
    now.sa_handler = SIG_DFL;
    ::sigaction(signal, &now, nullptr);
  }
  stack_t stack{};
  if (::sigaltstack(nullptr, &stack) == 0 && stack.ss_sp == stack_of_handler) {
    stack = {};
    stack.ss_flags = SS_DISABLE;
    ::sigaltstack(&stack, nullptr);
  }
}

}  // namespace hr::bind::crash
