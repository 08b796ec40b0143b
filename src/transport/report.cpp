#include "transport/report.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"

namespace hr::transport {
namespace {

using Ranks = std::vector<int>;

std::string key_of(int rank) { return "report-host-" + std::to_string(rank); }

// Returns the ranks of each host; the hosts are in the order of their first ranks.
std::vector<Ranks> ranks_of_hosts(const Job& job) {
  std::vector<Ranks> hosts;
  std::vector<std::size_t> at;  // host number to index in `hosts`, plus one; 0: not seen yet
  for (int proc = 0; proc < job.size; ++proc) {
    const int host = job.processes.host_of(proc);
    const auto number = static_cast<std::size_t>(host < 0 ? 0 : host);
    if (host >= 0 && number >= at.size()) at.resize(number + 1);
    if (host < 0 || at[number] == 0) {
      hosts.emplace_back();
      if (host >= 0) at[number] = hosts.size();
      hosts.back().push_back(proc);
    } else {
      hosts[at[number] - 1].push_back(proc);
    }
  }
  return hosts;
}

// Returns "rank 3 on n1", or "ranks 0-3,8 on n1".
std::string text_of(const Ranks& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0, last = 0; first < ranks.size(); first = ++last) {
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (first == 0 ? "" : ",") + std::to_string(ranks[first]);
    if (last != first) text += "-" + std::to_string(ranks[last]);
  }
  std::string name;
  if (!boot::get(ranks.front(), key_of(ranks.front()), &name).ok()) static_cast<void>(take_detail());
  return text + " on " + (name.empty() ? "an unknown host" : name);
}

void print(const std::string& who, Transport* path, int proc, const std::string& why) {
  if (path == nullptr) {
    log::write(log::Level::kError, "transports: %s: none (HEADRACE_TRANSPORTS is %s)", who.c_str(),
               knobs().transports.c_str());
    return;
  }
  const std::string route = path->route_to(proc);
  const std::string_view name = path->name();
  log::write(log::Level::kError, "transports: %s: %.*s%s%s: %s", who.c_str(), static_cast<int>(name.size()),
             name.data(), route.empty() ? "" : ", ", route.c_str(), why.c_str());
}

}  // namespace

Status announce_host(const Job& job) {
  return job.processes.first_on_host() ? boot::put(key_of(job.rank), host_name()) : Status(kOk);
}

void report(const Job& job, Transport* (*path_to)(int proc), const std::string& why_network) {
  if (!job.processes.first_on_host()) return;
  const std::vector<Ranks> hosts = ranks_of_hosts(job);
  std::size_t own = 0;
  while (own + 1 < hosts.size() && hosts[own].front() != job.rank) ++own;
  const std::string here = text_of(hosts[own]);
  if (hosts[own].size() > 1) {
    const int proc = hosts[own][1];
    Transport* const path = path_to(proc);
    const Caps caps = path == nullptr ? Caps{} : path->caps(proc);
    print(here, path, proc,
          caps.same_node || caps.same_address_space ? "they share memory"
                                                    : "HEADRACE_TRANSPORTS is " + knobs().transports);
  } else if (job.size == 1) {
    log::write(log::Level::kError, "transports: %s: none, since there is no other process", here.c_str());
  }
  for (std::size_t other = own + 1; other < hosts.size(); ++other) {
    const int proc = hosts[other].front();
    print(here + " to " + text_of(hosts[other]), path_to(proc), proc, why_network);
  }
}

}  // namespace hr::transport
