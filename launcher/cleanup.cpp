#include "cleanup.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

namespace hr::launcher {
namespace {

// The parent's pid stands second after the name in parentheses, which may itself hold anything.
pid_t parent_of(const std::filesystem::path& process) {
  std::string line;
  std::getline(std::ifstream(process / "stat"), line);
  const auto after_name = line.rfind(')');
  if (after_name == std::string::npos || line.size() < after_name + 4) return -1;
  return std::atoi(line.c_str() + after_name + 4);
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0 && parent_of(entry.path()) == ::getpid()) {
      children.push_back(std::atoi(name.c_str()));
    }
  }
  return children;
}

}  // namespace

void kill_orphans(const std::set<pid_t>& spared) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < deadline) {
    std::vector<pid_t> children = own_children();
    std::erase_if(children, [&spared](pid_t child) { return spared.contains(child); });
    if (children.empty()) return;
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);  // its own children come to us now: look again
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
