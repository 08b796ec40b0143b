#include "stacks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/secret.hpp"
#include "descriptor.hpp"
#include "host_environment.hpp"
#include "process.hpp"

namespace hr::launcher {
namespace {

using Clock = std::chrono::steady_clock;

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

// What a program prints on its standard output; killed at the deadline.
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

constexpr std::size_t kSecretDigits = 20;  // and more; addresses have up to 16

// The lines of gdb's that are about frames and threads. Arguments that it shows may be names of ports.
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

std::string first_line_of(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

std::string state_by_proc(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  std::string text = "  program " + first_line_of(folder + "comm");
  std::ifstream status(folder + "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:")) text += ", state " + line.substr(line.find_first_not_of("\t ", 6));
  }
  const std::string channel = first_line_of(folder + "wchan");
  if (!channel.empty() && channel != "0") text += ", waits in " + channel;
  const std::string call = first_line_of(folder + "syscall");
  if (!call.empty()) text += ", system call " + call.substr(0, call.find(' '));
  return text + "\n";
}

}  // namespace

std::string crash_of(pid_t pid, std::chrono::milliseconds limit) {
  // One thread is in a signal handler: what lies below it is the stack of the crash.
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
  const std::string stacks = stacks_by_gdb(pid, Clock::now() + limit);
  return stacks.empty() ? state_by_proc(pid) : stacks;
}

}  // namespace hr::launcher
