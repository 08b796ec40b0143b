#include "system/cleanup.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace hr::launcher {

namespace {

// Calls visit(pid) for every process.
template <class Visit>
void for_each_process(Visit&& visit) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) visit(static_cast<pid_t>(std::atoi(name.c_str())));
  }
}

std::string variables_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<pid_t> own_children() {
  std::set<pid_t> children;
  for_each_process([&children](pid_t process) {
    if (parent_of(process) == ::getpid()) children.insert(process);
  });
  return children;
}

}  // namespace

pid_t parent_of(pid_t process) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), line);
  // The parent's pid is the second field after the name in parentheses, which may itself contain anything.
  const auto after_name = line.rfind(')');
  if (after_name == std::string::npos || line.size() < after_name + 4) return -1;
  return std::atoi(line.c_str() + after_name + 4);
}

std::string identity_of_file(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  return std::to_string(file.st_dev) + "." + std::to_string(file.st_ino);
}

std::string program_file_of(pid_t process) { return identity_of_file("/proc/" + std::to_string(process) + "/exe"); }

void for_each_process_with(const std::string& one, const std::string& other, const std::function<void(pid_t)>& visit) {
  for_each_process([&](pid_t process) {
    if (process == ::getpid()) return;
    const std::string variables = variables_of(process);
    if (variables.find(one) != std::string::npos && variables.find(other) != std::string::npos) visit(process);
  });
}

std::set<pid_t> listed_children() {
  std::set<pid_t> children;
  std::ifstream list("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t child = 0; list >> child;) children.insert(child);
  return children;
}

int kill_processes_with(const std::string& text) {
  int found = 0;
  for_each_process_with(text, {}, [&found](pid_t process) {
    ++found;
    ::kill(process, SIGKILL);
  });
  return found;
}

void kill_orphans(const std::set<pid_t>& spared) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < deadline) {
    std::set<pid_t> children = own_children();
    std::erase_if(children, [&spared](pid_t child) { return spared.contains(child); });
    if (children.empty()) return;
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);  // its children are now those of this process, so search again
    }
  }
}

void remove_shared_memory(const std::set<std::string>& directories, const std::string& job) {
  const std::string prefix = "headrace." + job;
  for (const std::string& directory : directories) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      if (entry.path().filename().string().starts_with(prefix)) std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace hr::launcher
