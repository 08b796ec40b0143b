#include "program/own_stacks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "base/stack_request.hpp"
#include "program/symbols.hpp"
#include "system/descriptor.hpp"

namespace hr::launcher {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostThreads = 64;
// A running thread answers as soon as it is on a core; one that has not answered within this time will not.
constexpr std::chrono::milliseconds kAnswerTime{1500};

std::string field_of(const std::string& folder, const std::string& name) {
  std::ifstream status(folder + "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":"))
      return line.substr(std::min(line.find_first_not_of("\t ", name.size() + 1), line.size()));
  }
  return {};
}

bool has_signal(const std::string& folder, const std::string& mask) {
  const std::string text = field_of(folder, mask);
  return ((std::strtoull(text.c_str(), nullptr, 16) >> (kStackSignal - 1)) & 1) != 0;
}

std::string first_line_of(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file >> std::ws, line);
  return line;
}

bool ask(pid_t pid, pid_t thread, std::uint64_t request) {
  siginfo_t information{};
  information.si_signo = kStackSignal;
  information.si_code = SI_QUEUE;
  information.si_pid = ::getpid();
  information.si_uid = ::getuid();
  information.si_value.sival_ptr = reinterpret_cast<void*>(static_cast<std::uintptr_t>(request));
  return ::syscall(SYS_rt_tgsigqueueinfo, pid, thread, kStackSignal, &information) == 0;
}

bool receive(int pipe, Clock::time_point deadline, StackAnswer* answer) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd state{pipe, POLLIN, 0};
  if (left <= 0 || ::poll(&state, 1, static_cast<int>(left)) <= 0) return false;
  return ::read(pipe, answer, sizeof *answer) == sizeof *answer && answer->magic == StackAnswer::kMagic;
}

}  // namespace

std::string state_by_proc(const std::string& folder) {
  std::string text = first_line_of(folder + "comm");
  if (const std::string state = field_of(folder, "State"); !state.empty()) text += ", state " + state;
  if (const std::string channel = first_line_of(folder + "wchan"); !channel.empty() && channel != "0")
    text += ", waits in " + channel;
  if (const std::string call = first_line_of(folder + "syscall"); !call.empty() && call != "running")
    text += ", system call " + call.substr(0, call.find(' '));
  return text;
}

std::string own_stacks(pid_t pid, Clock::time_point deadline) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  int ends[2];
  struct stat pipe{};
  if (!has_signal(folder, "SigCgt") || ::pipe2(ends, O_CLOEXEC) != 0) return {};
  const Descriptor reading(ends[0]);
  const Descriptor writing(ends[1]);
  if (::fstat(writing.get(), &pipe) != 0) return {};
  const std::uint64_t request = stack_request(writing.get(), pipe.st_ino);

  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "task", gone))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  std::ranges::sort(threads);  // the main thread first
  if (threads.size() > kMostThreads) threads.resize(kMostThreads);
  std::size_t asked = 0;
  std::map<pid_t, std::string> silent;
  for (const pid_t thread : threads) {
    const std::string task = folder + "task/" + std::to_string(thread) + "/";
    if (has_signal(task, "SigBlk")) {
      silent[thread] = "it blocks signals";
    } else if (ask(pid, thread, request)) {
      ++asked;
    }
  }
  std::map<pid_t, StackAnswer> answers;
  const auto end = std::min(deadline, Clock::now() + kAnswerTime);
  for (StackAnswer answer; answers.size() < asked && receive(reading.get(), end, &answer);)
    answers[answer.thread] = answer;

  Symbols symbols(pid);
  std::string text;
  for (const pid_t thread : threads) {
    const std::string task = folder + "task/" + std::to_string(thread) + "/";
    const std::string state = state_by_proc(task);
    text += "  Thread " + std::to_string(thread) + (state.empty() ? "" : " (" + state + ")");
    const auto answer = answers.find(thread);
    if (answer == answers.end()) {
      const auto why = silent.find(thread);
      text += " does not say where it is: " + (why != silent.end() ? why->second : "no answer") + "\n";
      continue;
    }
    text += ":\n";
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(answer->second.count, StackAnswer::kMostFrames); ++i)
      text += "  #" + std::to_string(i) + " " + symbols.name(answer->second.addresses[i], i != 0) + "\n";
  }
  return text;
}

}  // namespace hr::launcher
