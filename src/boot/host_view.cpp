#include "boot/host_view.hpp"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>

#include "base/own_files.hpp"
#include "base/secret.hpp"
#include "boot/process_mapping.hpp"

namespace hr::boot {
namespace {

constexpr const char* kBegin = "headrace.";  // beginning of a link's name
constexpr const char* kEnd = ".host";
constexpr std::size_t kTokenDigits = 32;
constexpr int kAttempts = 100;     // the link may disappear between two system calls, if another job has the same name
constexpr char kNamespaces = '.';  // between the token and the namespaces
constexpr char kMixed = '/';       // between the mapping and the mixed hosts

std::string target_of(const std::string& link) {
  char text[128];
  const ssize_t length = ::readlink(link.c_str(), text, sizeof text);
  return length > 0 && length < static_cast<ssize_t>(sizeof text) ? std::string(text, static_cast<std::size_t>(length))
                                                                  : std::string();
}

bool is_token(std::string_view text) {
  const auto digit = [](char each) { return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f'); };
  return text.size() == kTokenDigits && std::all_of(text.begin(), text.end(), digit);
}

// Returns the number in a string such as "pid:[4026531836]".
std::string number_in(const std::string& text) {
  std::string digits;
  for (const char each : text) {
    if (each >= '0' && each <= '9') digits += each;
  }
  return digits.empty() ? "0" : digits;
}

std::string pid_namespace() { return number_in(target_of("/proc/self/ns/pid")); }

std::string namespaces() { return pid_namespace() + "-" + number_in(target_of("/proc/self/ns/user")); }

// Returns the part of a link's target that follows the token and identifies its creator: "TOKEN.PID_NAMESPACE.PID".
std::string signature(std::int64_t pid) { return "." + pid_namespace() + "." + std::to_string(pid); }

// True if the process that made a link no longer exists, as far as this process can see.
bool is_orphan(const std::string& target) {
  const auto last = target.rfind('.');
  if (target.size() <= kTokenDigits || last == std::string::npos) return false;
  std::int64_t pid = 0;
  const char* const end = target.data() + target.size();
  const auto read = std::from_chars(target.data() + last + 1, end, pid);
  if (read.ec != std::errc() || read.ptr != end || pid <= 0 || target.substr(kTokenDigits) != signature(pid))
    return false;
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

// Removes links of jobs that were killed while they started.
void remove_orphans(const std::string& directory) {
  const auto closing = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(closing)> open(::opendir(directory.c_str()), closing);
  if (open == nullptr) return;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    const std::string link = directory + "/" + entry->d_name;
    if (owner_of(link) == Owner::kThisUser && is_orphan(target_of(link))) ::unlink(link.c_str());
  }
}

std::string_view token_of(std::string_view view) { return view.substr(0, view.rfind(kNamespaces)); }

}  // namespace

HostView::HostView(const std::string& directory, std::string_view job, std::string_view otherwise) {
  // If no process removes the link, mpiexec does: the link's name contains the name of mpiexec's job.
  const std::string link = directory + "/" + kBegin + std::string(job) + kEnd;
  const std::string own = digits_of(make_nonce());
  const std::string signed_own = own + signature(::getpid());
  std::string token;
  for (int attempt = 0; attempt < kAttempts && token.empty(); ++attempt) {
    if (::symlink(signed_own.c_str(), link.c_str()) == 0) {
      token = own;
      made_ = true;
    } else if (errno != EEXIST) {
      break;
    } else if (const Owner owner = owner_of(link); owner == Owner::kThisUser) {
      token = target_of(link).substr(0, kTokenDigits);
    } else if (owner == Owner::kAnotherUser) {
      refused_ = link;
      break;
    }
  }
  if (made_) remove_orphans(directory);
  if (is_token(token)) {
    link_ = link;
  } else {
    token = otherwise;
  }
  text_ = token + kNamespaces + namespaces();
}

void HostView::forget() noexcept {
  if (!link_.empty()) ::unlink(link_.c_str());
  link_.clear();
}

Hosts compare_views(const std::vector<std::string>& view_of_rank) {
  struct Seen {
    int number;
    std::string_view view;  // view of its first process
  };
  std::map<std::string_view, Seen> hosts;
  Hosts found;
  found.of_rank.reserve(view_of_rank.size());
  for (const std::string& view : view_of_rank) {
    const Seen& host = hosts.try_emplace(token_of(view), Seen{static_cast<int>(hosts.size()), view}).first->second;
    found.of_rank.push_back(host.number);
    if (host.view != view && std::find(found.mixed.begin(), found.mixed.end(), host.number) == found.mixed.end()) {
      found.mixed.push_back(host.number);
    }
  }
  return found;
}

std::string format_hosts(const Hosts& hosts) {
  std::string text = format_process_mapping(hosts.of_rank);
  for (const int host : hosts.mixed) text += kMixed + std::to_string(host);
  return text;
}

bool parse_hosts(std::string_view text, int ranks, Hosts* hosts) {
  const auto end = std::min(text.find(kMixed), text.size());
  auto mapping = parse_process_mapping(text.substr(0, end), ranks);
  if (!mapping) return false;
  hosts->of_rank = std::move(*mapping);
  hosts->mixed.clear();
  for (std::string_view rest = text.substr(end); !rest.empty();) {
    int host = 0;
    const char* const last = rest.data() + rest.size();
    const auto read = std::from_chars(rest.data() + 1, last, host);
    if (rest[0] != kMixed || read.ec != std::errc()) return false;
    hosts->mixed.push_back(host);
    rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
  }
  return true;
}

}  // namespace hr::boot
