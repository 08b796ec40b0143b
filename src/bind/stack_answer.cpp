#include "bind/stack_answer.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>

#include "base/stack_request.hpp"
#include "enqueue/enqueue.hpp"

namespace hr::bind::stack_answer {
namespace {

constexpr int kFramesOfHandler = 4;  // at most

void* interrupted_at(const void* context) noexcept {
  const auto* state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<void*>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(state->uc_mcontext.pc);
#else
  static_cast<void>(state);
  return nullptr;
#endif
}

int open_pipe(pid_t launcher, std::uint64_t request) noexcept {
  char path[64] = "/proc/";
  char* end = std::to_chars(path + std::strlen(path), path + 32, launcher).ptr;
  std::memcpy(end, "/fd/", 4);
  *std::to_chars(end + 4, path + sizeof path - 1, requested_descriptor(request)).ptr = '\0';
  const int pipe = ::open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat found{};
  if (pipe >= 0 && ::fstat(pipe, &found) == 0 && S_ISFIFO(found.st_mode) && is_requested(request, found.st_ino))
    return pipe;
  if (pipe >= 0) ::close(pipe);
  return -1;
}

void on_request(int, siginfo_t* information, void* context) {
  const int error = errno;
  void* frames[StackAnswer::kMostFrames + kFramesOfHandler];
  if (information->si_code == SI_QUEUE) {
    const auto request = reinterpret_cast<std::uintptr_t>(information->si_value.sival_ptr);
    if (const int pipe = open_pipe(information->si_pid, request); pipe >= 0) {
      enqueue::ask_for_waits();
      const int count = std::max(::backtrace(frames, static_cast<int>(std::size(frames))), 0);
      void** const found = std::find(frames, frames + count, interrupted_at(context));
      void** const first = found != frames + count ? found : frames + std::min(count, 2);
      StackAnswer answer;
      answer.thread = static_cast<std::int32_t>(::syscall(SYS_gettid));
      for (void** frame = first; frame != frames + count && answer.count < StackAnswer::kMostFrames; ++frame)
        answer.addresses[answer.count++] = reinterpret_cast<std::uintptr_t>(*frame);
      [[maybe_unused]] const ssize_t written = ::write(pipe, &answer, sizeof answer);
      ::close(pipe);
    }
  }
  errno = error;
}

// Keeps the library loaded, as the handler must stay mapped.
void keep_loaded() noexcept {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<void*>(&on_request), &own) == 0 || own.dli_fname == nullptr) return;
  static_cast<void>(::dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace

void listen() noexcept {
  struct sigaction before{};
  if (::sigaction(kStackSignal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads now what backtrace() needs
  keep_loaded();
  struct sigaction action{};
  action.sa_sigaction = on_request;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(kStackSignal, &action, nullptr);
}

}  // namespace hr::bind::stack_answer
