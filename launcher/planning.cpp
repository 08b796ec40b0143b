#include "planning.hpp"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>

#include "base/knobs.hpp"
#include "host_environment.hpp"
#include "process.hpp"
#include "remote_command.hpp"
#include "values.hpp"

namespace hr::launcher {
namespace {

// Unique among running jobs; "headrace_" tells the library that it is.
std::string make_id() {
  unsigned long long random = 0;
  [[maybe_unused]] const ssize_t filled = ::getrandom(&random, sizeof random, 0);
  char text[64];
  std::snprintf(text, sizeof text, "headrace_%d_%016llx", ::getpid(), random);
  return text;
}

// By the name that the user knows it by, where that leads there: it is more likely to be so on other hosts.
std::string working_directory() {
  std::error_code error;
  const std::string physical = std::filesystem::current_path(error);
  const char* logical = hr::environment("PWD");
  struct stat one{};
  struct stat other{};
  const bool same = logical != nullptr && *logical == '/' && ::stat(logical, &one) == 0 && ::stat(".", &other) == 0 &&
                    one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  return same ? logical : physical;
}

int slots_of(const std::vector<HostSlots>& hosts) {
  std::int64_t sum = 0;
  for (const HostSlots& each : hosts) sum += each.slots;
  return static_cast<int>(std::min<std::int64_t>(sum, INT_MAX));
}

std::string names_of(const std::vector<HostSlots>& hosts) {
  std::string all;
  for (const HostSlots& each : hosts) all += (all.empty() ? "" : ",") + each.name;
  return all;
}

// What is left of a list after --nodes and --nolocal.
Status restrict_hosts(const Options& options, std::vector<HostSlots>* hosts) {
  if (options.not_here) {
    std::erase_if(*hosts, [](const HostSlots& each) { return is_this_host(each.name); });
    if (hosts->empty()) return fail(Errc::kOther, "--nolocal: there is no host but this one");
  }
  const auto most = static_cast<std::size_t>(options.most_hosts);
  if (most > hosts->size()) {
    return fail(Errc::kOther, "--nodes %d: there %s %zu (%s); name more with --hosts or --hostfile", options.most_hosts,
                hosts->size() == 1 ? "is" : "are", hosts->size(), names_of(*hosts).c_str());
  }
  if (most > 0) hosts->resize(most);
  return kOk;
}

// The hosts of programs that name none.
Status find_hosts(Options* options, Allocation* allocation) {
  // Where a job names its hosts, a resource manager's list only says how to reach them.
  const bool named = !options->hosts.empty();
  if (const Status read = read_allocation(allocation); !read.ok()) {
    if (!named) return read;
    take_detail();
    *allocation = {};
  }
  if (!named) options->hosts = allocation->hosts;
  if (options->hosts.empty()) options->hosts.push_back({"localhost", 1, false});
  HR_TRY(restrict_hosts(*options, &options->hosts));
  for (Program& program : options->programs) {
    if (!program.hosts.empty()) HR_TRY(restrict_hosts(*options, &program.hosts));
  }
  return kOk;
}

// -n, else -ppn on each host, else all slots.
int count_ranks(const Program& program, const std::vector<HostSlots>& hosts) {
  if (program.ranks > 0) return program.ranks;
  const std::int64_t count = program.per_host > 0
                                 ? static_cast<std::int64_t>(program.per_host) * static_cast<std::int64_t>(hosts.size())
                                 : slots_of(hosts);
  return static_cast<int>(std::min<std::int64_t>(count, INT_MAX));
}

// The number of a host in the plan, which it gets with its first rank.
int number_of(const std::string& name, JobPlan* plan) {
  const bool here = is_this_host(name);
  if (here && plan->root_host >= 0) return plan->root_host;
  for (std::size_t at = 0; at < plan->hosts.size(); ++at) {
    if (alike(plan->hosts[at], name)) return static_cast<int>(at);
  }
  plan->hosts.push_back(name);
  if (here) plan->root_host = static_cast<int>(plan->hosts.size()) - 1;
  return static_cast<int>(plan->hosts.size()) - 1;
}

Status place_ranks(Options* options, JobPlan* plan) {
  HostFiller common(options->hosts);
  std::int64_t total = 0;
  for (Program& program : options->programs) {
    HostFiller own(program.hosts);
    HostFiller& filler = program.hosts.empty() || program.hosts.data() == nullptr ? common : own;
    program.ranks = count_ranks(program, filler.hosts());
    total += program.ranks;
    if (total > kMostRanks) {
      return fail(Errc::kOther, "%lld ranks; one job takes up to %d", static_cast<long long>(total), kMostRanks);
    }
    std::vector<int> numbers(filler.hosts().size(), -1);
    for (int rank = 0; rank < program.ranks; ++rank) {
      const int at = filler.next(options->by_host ? 1 : program.per_host);
      int& number = numbers[static_cast<std::size_t>(at)];
      if (number < 0) number = number_of(filler.hosts()[static_cast<std::size_t>(at)].name, plan);
      plan->host_of.push_back(number);
    }
    const bool said = std::any_of(filler.hosts().begin(), filler.hosts().end(),
                                  [](const HostSlots& each) { return each.slots_said; });
    if (said && program.per_host == 0 && filler.hosts().size() > 1 && program.ranks > slots_of(filler.hosts()) &&
        !options->quiet) {
      std::fprintf(stderr, "mpiexec: %d ranks for %d slots of %s: the hosts are filled again from the first\n",
                   program.ranks, slots_of(filler.hosts()), names_of(filler.hosts()).c_str());
    }
  }
  return kOk;
}

Status check_directories(const Options& options, const JobPlan& plan) {
  for (const Program& program : options.programs) {
    struct stat state{};
    if (plan.root_host < 0 || program.directory.empty()) continue;
    if (::stat(program.directory.c_str(), &state) == 0 && S_ISDIR(state.st_mode)) continue;
    return fail(Errc::kOther, "--wdir %s: there is no such directory", program.directory.c_str());
  }
  return kOk;
}

Status declare_hosts(const Options& options, JobPlan* plan) {
  if (plan->hosts.size() == 1) {
    plan->declared_hosts = options.as_hosts != 0 ? options.as_hosts : static_cast<int>(knobs().as_hosts);
  } else if (options.as_hosts > 1) {
    return fail(Errc::kOther, "--as-hosts %d: the ranks are on %zu hosts already", options.as_hosts,
                plan->hosts.size());
  }
  return kOk;
}

// srun reaches the hosts of its allocation alone.
bool is_all_of(const JobPlan& plan, const Allocation& allocation) {
  if (!allocation.is_slurm) return false;
  return std::all_of(plan.hosts.begin(), plan.hosts.end(), [&allocation](const std::string& name) {
    return is_this_host(name) || std::any_of(allocation.hosts.begin(), allocation.hosts.end(),
                                             [&name](const HostSlots& each) { return alike(each.name, name); });
  });
}

void add_shm_directories(const Options& options, JobPlan* plan) {
  plan->shm_directories = {knobs().shm_dir};
  for (const Program& program : options.programs) {
    for (const auto& [name, value] : program.environment) {
      if (name == "HEADRACE_SHM_DIR") plan->shm_directories.insert(value);
    }
  }
}

int creation_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<int>(mask);
}

}  // namespace

int HostFiller::next(int per_host) {
  const auto full = [&] { return on_this_ >= (per_host > 0 ? per_host : hosts_[at_].slots); };
  if (full()) {
    on_this_ = 0;
    if (++at_ == hosts_.size()) {
      at_ = 0;
      ++rounds_;
    }
  }
  ++on_this_;
  return static_cast<int>(at_);
}

Status make_plan(Options* options, JobPlan* plan) {
  Allocation allocation;
  HR_TRY(find_hosts(options, &allocation));
  HR_TRY(place_ranks(options, plan));
  HR_TRY(check_directories(*options, *plan));
  HR_TRY(declare_hosts(*options, plan));
  plan->id = make_id();
  for (const Program& program : options->programs) {
    plan->programs.push_back({program.ranks, program.arguments,
                              make_environment(program.inherited, program.environment), program.directory});
  }
  plan->directory = working_directory();
  plan->search_path = own_search_path();
  plan->creation_mask = creation_mask();
  plan->placing = options->placing;
  plan->report_bindings = options->report_bindings;
  plan->keep_going = options->keep_going;
  add_shm_directories(*options, plan);
  plan->silence = std::chrono::milliseconds(std::llround(knobs().host_timeout * 1000));
  plan->degree = static_cast<int>(knobs().launch_degree);
  const std::string& said = options->launcher.empty() ? std::string(knobs().launcher) : options->launcher;
  plan->shell = remote_shell(said, is_all_of(*plan, allocation));
  if (plan->shell.words.empty()) return fail(Errc::kOther, "--launcher: a command's name is missing");
  std::error_code error;
  plan->mpiexec = std::filesystem::read_symlink("/proc/self/exe", error);
  return kOk;
}

}  // namespace hr::launcher
