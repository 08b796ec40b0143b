#include "saved_counters.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>

namespace hr::launcher {

void for_each_page(const std::set<std::string>& directories, const std::string& job,
                   const std::function<void(std::string page)>& take) {
  const std::string prefix = "headrace." + job + ".counters.";
  for (const std::string& directory : directories) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      if (!page.empty()) take(std::move(page));
    }
  }
}

SavedCounters::~SavedCounters() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

std::string SavedCounters::problem() const {
  return "--save-counters: cannot write " + path_ + ": " + std::strerror(errno != 0 ? errno : EIO);
}

std::string SavedCounters::begin() {
  const std::string name = path_ + "." + std::to_string(::getpid());
  errno = 0;
  file_.open(name, std::ios::binary | std::ios::trunc);
  if (!file_) return problem();
  unfinished_ = name;
  file_ << "HRSAVED1";
  return {};
}

void SavedCounters::add(std::string_view page) {
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(page.size()) >> (8 * i));
  file_.write(length, sizeof length);
  file_.write(page.data(), static_cast<std::streamsize>(page.size()));
}

std::string SavedCounters::end() {
  errno = 0;
  file_.close();
  if (!file_ || std::rename(unfinished_.c_str(), path_.c_str()) != 0) return problem();
  unfinished_.clear();
  return {};
}

}  // namespace hr::launcher
