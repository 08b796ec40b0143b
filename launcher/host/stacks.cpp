#include "host/stacks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/secret.hpp"
#include "plan/host_environment.hpp"
#include "program/own_stacks.hpp"
#include "system/descriptor.hpp"
#include "system/process.hpp"

namespace hr::launcher {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostMembers = 4;

std::string read_all(int descriptor, Clock::time_point deadline) {
  std::string text;
  char chunk[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd state{descriptor, POLLIN, 0};
    if (left <= 0 || ::poll(&state, 1, static_cast<int>(left)) <= 0) return text;
    const ssize_t count = ::read(descriptor, chunk, sizeof chunk);
    if (count <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(count));
  }
}

// Returns a program's standard output. Kills it at the deadline.
std::string output_of(const std::vector<std::string>& command, Clock::time_point deadline) {
  std::string path;
  int ends[2];
  if (find_executable(command[0], "", own_search_path(), &path) != 0 || ::pipe2(ends, O_CLOEXEC) != 0) return {};
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto environment = make_environment({}, {{"DEBUGINFOD_URLS", ""}});
  ChildPlan plan;
  plan.path = path.c_str();
  const auto arguments = as_pointers(command);
  const auto variables = as_pointers(environment);
  plan.arguments = arguments.data();
  plan.environment = variables.data();
  plan.standard_input = null.get();
  plan.standard_output = writing.get();
  plan.standard_error = null.get();
  int error = 0;
  const pid_t pid = start_process(plan, &error);
  writing.close();
  if (pid < 0) return {};
  std::string text = read_all(reading.get(), deadline);
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return text;
}

constexpr std::size_t kSecretDigits = 20;  // minimum length of a secret; addresses have up to 16 digits

// Keeps gdb's lines about frames and threads. Secrets are removed, as arguments may be port names.
std::string stacks_by_gdb(pid_t pid, Clock::time_point deadline) {
  const std::string text = output_of(
      {"gdb", "-nx", "-batch", "-p", std::to_string(pid), "-ex", "set width 200", "-ex", "thread apply all bt 30"},
      deadline);
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#") || line.starts_with("Thread "))
      kept += "  " + without_secrets(line, kSecretDigits) + "\n";
  }
  return kept.find("  #") == std::string::npos ? std::string() : kept;
}

// Returns the leader and the members of a rank's process group: a shell may have started the program, for example.
std::vector<pid_t> members_of(pid_t group) {
  std::vector<pid_t> members{group};
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && pid != group && ::getpgid(pid) == group && members.size() < kMostMembers) members.push_back(pid);
  }
  return members;
}

std::string stack_of_one(pid_t pid, Clock::time_point deadline) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  // Queries the process itself first, because a debugger stops it and may take too long.
  std::string told = "  program " + state_by_proc(folder) + "\n" + own_stacks(pid, deadline);
  std::string stacks = stacks_by_gdb(pid, deadline);
  if (stacks.empty()) ::kill(pid, SIGCONT);  // a killed debugger leaves the process stopped
  return stacks.empty() ? told : stacks;
}

}  // namespace

std::string crash_of(pid_t pid, std::chrono::milliseconds limit) {
  // One thread is in a signal handler: the frames below it are the stack of the crash.
  std::istringstream lines(stacks_by_gdb(pid, Clock::now() + limit));
  std::string kept;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto sign = line.find('#');
    if (sign == std::string::npos && inside) break;  // the next thread
    if (inside)
      kept += "  #" + std::to_string(number++) + line.substr(std::min(line.find(' ', sign), line.size())) + "\n";
    if (line.find("<signal handler called>") != std::string::npos) inside = true;
  }
  return kept;
}

std::string where_is(pid_t pid, std::chrono::milliseconds limit) {
  const auto begun = Clock::now();
  const std::vector<pid_t> members = members_of(pid);
  const auto share = limit / static_cast<int>(members.size());
  std::string text;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members.size() > 1) text += "  process " + std::to_string(members[i]) + ":\n";
    text += stack_of_one(members[i], begun + share * static_cast<int>(i + 1));
  }
  return text;
}

}  // namespace hr::launcher
