#include "check/call_site.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "check/state.hpp"

extern char** environ;

namespace hr::check {
namespace {

// Cached results.
struct Known final : FileState {
  std::map<const void*, bool> parts;  // keyed by code address; true if it is in the library
  std::map<std::pair<std::string, std::uint64_t>, std::string> texts;     // keyed by file and offset
  std::map<std::pair<const void*, const char*>, RemoteCallSite> remotes;  // keyed by address and function
};

constexpr std::string_view kOwnFiles[] = {"libmpi_abi.so", "libmpi.so", "libmpich",
                                          "libmpifort",    "libmpicxx", "libheadrace"};

struct CodeLocation {
  std::string file;
  std::uint64_t offset = 0;
};

CodeLocation location_of(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  CodeLocation location{map->l_name, reinterpret_cast<std::uint64_t>(address) - map->l_addr};
  if (location.file.empty()) {
    char own[4096];
    const ssize_t length = ::readlink("/proc/self/exe", own, sizeof own);
    if (length > 0) location.file.assign(own, static_cast<std::size_t>(length));
  }
  return location;
}

bool is_ours(const void* address) {
  const auto [entry, is_new] = own<Known>().parts.try_emplace(address, false);
  if (is_new) {
    Dl_info info{};
    const bool found = ::dladdr(address, &info) != 0 && info.dli_fname != nullptr;
    std::string_view name = found ? info.dli_fname : "";
    name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
    entry->second = std::ranges::any_of(kOwnFiles, [&](std::string_view ours) { return name.starts_with(ours); });
  }
  return entry->second;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Runs a program and returns its standard output; empty if it cannot be run.
std::string output_of(const char* const arguments[]) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, const_cast<char* const*>(arguments), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  std::string output;
  char text[512];
  for (ssize_t got = 0; failed == 0 && (got = ::read(pipe[0], text, sizeof text)) > 0;)
    output.append(text, static_cast<std::size_t>(got));
  ::close(pipe[0]);
  if (failed == 0) ::waitpid(child, nullptr, 0);
  return output;
}

// Returns "halo.c:31 (exchange)". `offset` is the offset of the return address, just past the call.
std::string line_of(const std::string& file, std::uint64_t offset) {
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(offset - 1));
  const char* const arguments[] = {"addr2line", "-Cfe", file.c_str(), address, nullptr};
  const std::string output = output_of(arguments);
  const std::size_t end = output.find('\n');
  if (end == std::string::npos) return {};
  const std::string function = output.substr(0, end);
  std::string line = output.substr(end + 1, output.find('\n', end + 1) - end - 1);
  line = line.substr(0, line.find(" (discriminator"));
  if (line.starts_with("??") || line.ends_with(":?") || line.ends_with(":0")) {
    return function.starts_with("??") ? std::string() : function;
  }
  return std::string(last_part(line)) + (function.starts_with("??") ? "" : " (" + function + ")");
}

std::string where(const std::string& file, std::uint64_t offset) {
  if (file.empty()) return "an unknown place";
  const auto [entry, is_new] = own<Known>().texts.try_emplace({file, offset});
  if (is_new) {
    entry->second = line_of(file, offset);
    if (entry->second.empty()) {
      char text[32];
      std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(offset));
      entry->second = std::string(last_part(file)) + text;
    }
  }
  return entry->second;
}

void copy_text(std::string_view text, char* to, std::size_t room) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

}  // namespace

const void* program_caller(const void* caller) noexcept {
  if (!is_ours(caller)) return caller;
  void* frames[32];
  const int count = ::backtrace(frames, 32);
  const auto* const end = frames + count;
  const auto* const at = std::find(frames, frames + count, caller);
  const auto* const found = std::find_if(at, end, [](const void* frame) { return !is_ours(frame); });
  return found == end ? caller : *found;
}

RemoteCallSite remote(const CallSite& call_site) {
  const auto [entry, is_new] = own<Known>().remotes.try_emplace({call_site.address, call_site.function});
  RemoteCallSite& result = entry->second;
  if (!is_new) return result;
  const CodeLocation location = location_of(call_site.address);
  result.offset = location.offset;
  copy_text(call_site.function, result.function, sizeof result.function);
  if (location.file.size() < sizeof result.file) copy_text(location.file, result.file, sizeof result.file);
  return result;
}

std::string text(const CallSite& call_site) {
  const CodeLocation location = location_of(call_site.address);
  return std::string(call_site.function) + " at " + where(location.file, location.offset);
}

std::string text(const RemoteCallSite& call_site) {
  return std::string(call_site.function) + " at " + where(call_site.file, call_site.offset);
}

}  // namespace hr::check
