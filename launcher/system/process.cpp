#include "system/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/knobs.hpp"
#include "system/signals.hpp"

namespace hr::launcher {
namespace {

rlimit inherited_limit{};

// Turns the new process into the program. Makes only system calls, as the process shares the parent's memory until the
// program starts (vfork).
[[noreturn]] void become(const ChildPlan& plan, const unsigned long* cpu_mask, std::size_t mask_bytes, pid_t parent,
                         volatile int* error) {
  const auto give_up = [error] {
    *error = errno;
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before this process requested the notification
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) give_up();
  // Binding only affects speed, so a program runs even if binding is refused.
  if (mask_bytes != 0) ::syscall(SYS_sched_setaffinity, 0, mask_bytes, cpu_mask);
  if (::dup2(plan.standard_input, STDIN_FILENO) < 0 || ::dup2(plan.standard_output, STDOUT_FILENO) < 0 ||
      ::dup2(plan.standard_error, STDERR_FILENO) < 0) {
    give_up();
  }
  if (plan.kept >= 0) ::fcntl(plan.kept, F_SETFD, 0);
  if (inherited_limit.rlim_cur != 0) ::setrlimit(RLIMIT_NOFILE, &inherited_limit);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action{};
    const bool known = ::sigaction(signal, nullptr, &action) == 0;
    if (known && action.sa_handler == SIG_IGN && !stays_ignored(signal)) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.path, plan.arguments, plan.environment);
  give_up();
  __builtin_unreachable();
}

// Returns 0 if the file can be executed, else the errno.
int check_executable(const std::string& path) {
  struct stat state{};
  if (::stat(path.c_str(), &state) != 0) return errno;
  if (S_ISDIR(state.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

[[gnu::noinline]] pid_t start_process(const ChildPlan& plan, int* error) {
  std::vector<unsigned long> mask;
  if (plan.cpus != nullptr && !plan.cpus->empty()) {
    constexpr unsigned kWord = sizeof(unsigned long) * CHAR_BIT;
    mask.resize(plan.cpus->back() / kWord + 1);
    for (const unsigned cpu : *plan.cpus) mask[cpu / kWord] |= 1ul << (cpu % kWord);
  }
  const pid_t parent = ::getpid();
  const unsigned long* mask_words = mask.data();
  const std::size_t mask_bytes = mask.size() * sizeof(unsigned long);
  volatile int child_error = 0;
  // vfork copies no page tables, and the errno of a failed exec is returned through memory.
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan, mask_words, mask_bytes, parent, &child_error);
  *error = pid < 0 ? errno : child_error;
  if (pid > 0 && child_error != 0) return -1;  // the zombie disappears when this process ends
  return pid;
}

int find_executable(const std::string& name, const std::string& directory, std::string_view search_path,
                    std::string* path) {
  // A relative name is relative to the directory in which the program starts.
  const auto in_directory = [&](const std::string& file) {
    return directory.empty() || file[0] == '/' ? file : directory + "/" + file;
  };
  *path = name;
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) return check_executable(in_directory(name));
  int reason = ENOENT;
  std::string_view rest = search_path;
  while (!rest.empty()) {
    const auto end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    const std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    const int found = check_executable(in_directory(candidate));
    if (found == 0) {
      *path = candidate;
      return 0;
    }
    if (found == EACCES) reason = EACCES;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (check_executable(in_directory(name)) != 0) return reason;
  *path = "./" + name;
  return 0;
}

std::string why_not_executed(const std::string& path, const std::string& directory, int error) {
  const std::string says = std::strerror(error);
  if (error == E2BIG) {
    return says + ": arguments and environment together may take a quarter of the stack's limit (ulimit -s)";
  }
  const std::string whole = directory.empty() || path.starts_with('/') ? path : directory + "/" + path;
  std::ifstream file(whole, std::ios::binary);
  std::string first;
  std::getline(file, first);
  first.resize(std::min<std::size_t>(first.size(), 256));
  if (error == ENOEXEC) {
    return says + (first.starts_with("\x7f"
                                     "ELF")
                       ? ": it was built for machines of another kind"
                       : ": it is neither a program for this machine nor a script with #! and an interpreter");
  }
  if (error != ENOENT && error != EACCES) return says;
  if (first.starts_with("\x7f"
                        "ELF"))
    return says + ": the loader that it names is not on this machine (readelf -l)";
  if (!first.starts_with("#!")) return says;
  const auto begin = first.find_first_not_of(" \t", 2);
  std::string interpreter = begin == std::string::npos ? "" : first.substr(begin);
  interpreter.resize(std::min(interpreter.size(), interpreter.find_first_of(" \t")));
  if (interpreter.ends_with('\r')) {
    interpreter.pop_back();
    return says +
           ": its first line ends with a carriage return, as lines of Windows do, and so there is no such "
           "interpreter as \"" +
           interpreter + "\\r\"; sed -i 's/\\r$//' " + whole + " takes them away";
  }
  return says + ": its first line names the interpreter \"" + interpreter + "\", which cannot be executed here";
}

std::string own_search_path() {
  const char* variable = hr::environment("PATH");
  return variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
}

std::vector<char*> as_pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void raise_descriptor_limit() {
  if (::getrlimit(RLIMIT_NOFILE, &inherited_limit) != 0) return;
  rlimit raised = inherited_limit;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
}

}  // namespace hr::launcher
