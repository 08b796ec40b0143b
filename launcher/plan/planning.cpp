#include "plan/planning.hpp"

#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
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
#include <map>
#include <sstream>
#include <thread>

#include "base/knobs.hpp"
#include "base/own_files.hpp"
#include "base/ranges.hpp"
#include "plan/host_environment.hpp"
#include "plan/remote_command.hpp"
#include "system/process.hpp"
#include "topo/allowed_cpus.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

// Creates an id that is unique among running jobs; "headrace_" identifies the library.
std::string make_id() {
  unsigned long long random = 0;
  [[maybe_unused]] const ssize_t filled = ::getrandom(&random, sizeof random, 0);
  char text[64];
  std::snprintf(text, sizeof text, "headrace_%d_%016llx", ::getpid(), random);
  return text;
}

// Returns PWD if it names the working directory, else the system's name. PWD, the user's name, is more likely to exist
// on other hosts.
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

std::string names_of(const std::vector<HostSlots>& hosts) {
  std::string all;
  for (const HostSlots& each : hosts) all += (all.empty() ? "" : ",") + each.name;
  return all;
}

// Applies --nodes and --nolocal to a list.
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

// Finds the hosts of programs that name none.
Status find_hosts(Options* options, Allocation* allocation) {
  // If a job names its hosts, a resource manager's list is used only to reach them.
  const bool named = !options->hosts.empty();
  if (const Status read = read_allocation(allocation); !read.ok()) {
    if (!named) return read;
    take_detail();
    *allocation = {};
  }
  if (!named && options->machines.empty()) options->hosts = allocation->hosts;
  // If no hosts are named, each described machine is a host.
  for (std::size_t at = 0; !named && at < options->machines.size(); ++at) {
    options->hosts.push_back({"host" + std::to_string(at), 1, false});
  }
  if (options->hosts.empty()) options->hosts.push_back({"localhost", 1, false});
  HR_TRY(restrict_hosts(*options, &options->hosts));
  for (Program& program : options->programs) {
    if (!program.hosts.empty()) HR_TRY(restrict_hosts(*options, &program.hosts));
  }
  return kOk;
}

// True if all ranks, including those that may be spawned later, are on this host.
bool is_all_here(const Options& options) {
  const auto here = [](const HostSlots& host) { return is_this_host(host.name); };
  return std::all_of(options.hosts.begin(), options.hosts.end(), here) &&
         std::all_of(options.programs.begin(), options.programs.end(), [&here](const Program& program) {
           return std::all_of(program.hosts.begin(), program.hosts.end(), here);
         });
}

// Returns the index of a host in the plan. Adds the host if it is not there yet.
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

// Returns a note for messages about space for ranks, if this process may use only part of the machine.
std::string own_binding() {
  const topo::CpuSet cpus = topo::allowed_cpus();
  const long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (cpus.empty() || all <= 0 || cpus.size() >= static_cast<std::size_t>(all)) return {};
  const bool nested = hr::environment("PMI_RANK") != nullptr;
  return "; this mpiexec may use CPU " + as_ranges(cpus) + " of " + std::to_string(all) +
         (nested ? " alone, as it is a rank of another mpiexec that binds its ranks: start that with --bind-to none"
                 : " alone (taskset, or a container)");
}

// Places each rank on a host.
Status place_ranks(Options* options, JobPlan* plan) {
  RankLayout layout;
  HR_TRY(lay_out(options, &layout));
  std::vector<int> numbers(layout.hosts.size(), -1);
  for (const int host : layout.host_of) {
    int& number = numbers[static_cast<std::size_t>(host)];
    if (number < 0) number = number_of(layout.hosts[static_cast<std::size_t>(host)].name, plan);
    plan->host_of.push_back(number);
  }
  // Errors on this host are reported before anything is started; agents check their own.
  if (plan->root_host >= 0) HR_TRY(place_on(layout.own_host, options->mapping, &layout));
  plan->machine = std::make_shared<topo::Machine>(std::move(layout.machines.front()));
  if (options->note_oversubscription && !layout.note.empty())
    std::fprintf(stderr, "mpiexec: %s%s\n", layout.note.c_str(), own_binding().c_str());
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

Status check_own_directory(const Options& options, const JobPlan& plan) {
  const bool needed = std::any_of(options.programs.begin(), options.programs.end(),
                                  [](const Program& program) { return !program.directory.starts_with('/'); });
  if (!plan.directory.empty() || !needed) return kOk;
  const char* const before = hr::environment("PWD");
  return fail(Errc::kOther,
              "the directory in which mpiexec was started has been removed, or is not accessible%s%s: change into "
              "another, or name one with --wdir",
              before != nullptr ? "; it was " : "", before != nullptr ? before : "");
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

// True if all hosts are in the allocation, so that srun can start all agents.
bool is_all_of(const JobPlan& plan, const Allocation& allocation) {
  if (!allocation.is_slurm) return false;
  return std::all_of(plan.hosts.begin(), plan.hosts.end(), [&allocation](const std::string& name) {
    return is_this_host(name) || std::any_of(allocation.hosts.begin(), allocation.hosts.end(),
                                             [&name](const HostSlots& each) { return alike(each.name, name); });
  });
}

// Returns the number of ranks for which the hosts have space: their slots, or, for this host, its cores if no number
// was given.
int slots_of(const Options& options) {
  std::map<std::string, int> slots;
  const auto add = [&](const std::vector<HostSlots>& hosts) {
    for (const HostSlots& host : hosts) {
      const bool here = !host.slots_given && is_this_host(host.name);
      slots[host.name] = here ? static_cast<int>(std::thread::hardware_concurrency()) : host.slots;
    }
  };
  for (const Program& program : options.programs) add(program.hosts.empty() ? options.hosts : program.hosts);
  int sum = 0;
  for (const auto& [name, number] : slots) sum += number;
  return sum;
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

Status make_layout(Options* options, RankLayout* layout) {
  Allocation allocation;
  HR_TRY(find_hosts(options, &allocation));
  HR_TRY(lay_out(options, layout));
  for (int host = 0; host < static_cast<int>(layout->hosts.size()); ++host) {
    HR_TRY(place_on(host, options->mapping, layout));
  }
  return kOk;
}

Status make_plan(Options* options, JobPlan* plan) {
  Allocation allocation;
  HR_TRY(find_hosts(options, &allocation));
  plan->one_host = is_all_here(*options);
  if (const Status placed = place_ranks(options, plan); !placed.ok()) {
    set_detail(take_detail() + own_binding());
    return placed;
  }
  HR_TRY(check_directories(*options, *plan));
  HR_TRY(declare_hosts(*options, plan));
  plan->id = make_id();
  for (const Program& program : options->programs) {
    plan->programs.push_back({program.ranks, program.arguments,
                              make_environment(program.inherited, program.environment), program.directory});
  }
  plan->directory = working_directory();
  HR_TRY(check_own_directory(*options, *plan));
  plan->search_path = own_search_path();
  plan->creation_mask = creation_mask();
  plan->mapping = options->mapping;
  plan->report_bindings = options->report_bindings;
  plan->keep_going = options->keep_going;
  plan->foreign_variables = options->foreign_variables;
  if (options->universe == 0) options->universe = slots_of(*options);
  plan->universe = std::max(options->universe, plan->ranks());
  add_shm_directories(*options, plan);
  plan->silence = std::chrono::milliseconds(std::llround(knobs().host_timeout * 1000));
  plan->degree = static_cast<int>(knobs().launch_degree);
  const std::string& launcher = options->launcher.empty() ? std::string(knobs().launcher) : options->launcher;
  plan->shell = remote_shell(launcher, is_all_of(*plan, allocation));
  if (plan->shell.words.empty()) return fail(Errc::kOther, "--launcher: the name of a command is missing");
  std::error_code error;
  plan->mpiexec = std::filesystem::read_symlink("/proc/self/exe", error);
  return kOk;
}

// --- plans of spawned processes ---

namespace {

// Handles info keys of MPI 5.0 section 11.8.4 and of other implementations; ignores all others.
Status take_info(const std::string& key, const std::string& value, Program* program, std::string* search_path) {
  if (key == "host" || key == "hosts" || key == "add-host") return read_host_list(key, value, &program->hosts);
  if (key == "hostfile" || key == "add-hostfile") return read_host_file(key, value, &program->hosts);
  if (key == "wdir") program->directory = value;
  if (key == "path") *search_path = value;
  if (key == "env") {
    for (const std::string& variable : split(value, '\n')) {
      const auto equals = variable.find('=');
      if (equals == std::string::npos || equals == 0) {
        return fail(Errc::kOther, "the info key env has \"%s\": NAME=VALUE is wanted, a variable a line",
                    variable.c_str());
      }
      program->environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    }
  }
  utsname system{};
  if (key == "arch" && ::uname(&system) == 0 && value != system.machine) {
    return fail(Errc::kOther, "the info key arch requires \"%s\", and these hosts are %s", value.c_str(),
                system.machine);
  }
  return kOk;
}

// Reads the file that the info key "file" names. Its lines have the form "key = value".
Status take_info_file(const std::string& path, Program* program, std::string* search_path) {
  std::string text;
  if (!read_file(path, kLargestTextFile, &text).ok())
    return fail(Errc::kOther, "the info key file names %s, which %s", path.c_str(), take_detail().c_str());
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos || line.starts_with('#')) continue;
    const auto strip = [](std::string text) {
      const auto begin = text.find_first_not_of(" \t");
      const auto end = text.find_last_not_of(" \t");
      return begin == std::string::npos ? std::string() : text.substr(begin, end + 1 - begin);
    };
    HR_TRY(take_info(strip(line.substr(0, equals)), strip(line.substr(equals + 1)), program, search_path));
  }
  return kOk;
}

// First searches the path given by the info key "path" for a name without a slash. A name that is not found stays as it
// is: other hosts may have the program.
void find_in(const std::string& search_path, Program* program) {
  std::string found;
  std::string& name = program->arguments[0];
  if (search_path.empty() || name.find('/') != std::string::npos) return;
  if (find_executable(name, program->directory, search_path, &found) == 0 && found.starts_with('/')) name = found;
}

Status make_program(const SpawnRequest::Part& part, const Program& like, Program* program) {
  program->ranks = part.ranks;
  program->arguments = part.arguments;
  program->environment = like.environment;
  program->inherited = like.inherited;
  std::string search_path;
  for (const auto& [key, value] : part.info) {
    if (key == "file") HR_TRY(take_info_file(value, program, &search_path));
  }
  for (const auto& [key, value] : part.info) HR_TRY(take_info(key, value, program, &search_path));
  find_in(search_path, program);
  return kOk;
}

}  // namespace

Status plan_spawn(const Options& options, const SpawnRequest& request, JobPlan* plan) {
  Options own = options;
  const Program like = options.programs.empty() ? Program() : options.programs.front();
  own.programs.clear();
  for (const SpawnRequest::Part& part : request.programs)
    HR_TRY(make_program(part, like, &own.programs.emplace_back()));
  // The spawning processes already occupy the cores.
  own.mapping = {};
  own.mapping.bound = false;
  own.report_bindings = false;
  own.note_oversubscription = false;
  HR_TRY(make_plan(&own, plan));
  plan->spawned = true;
  plan->given = request.given;
  return kOk;
}

}  // namespace hr::launcher
