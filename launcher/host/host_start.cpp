// Starts the ranks on one host: finds the programs, places the ranks, and starts them.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/ranges.hpp"
#include "boot/spare_cpus.hpp"
#include "host/host_ranks.hpp"
#include "plan/host_environment.hpp"
#include "system/cleanup.hpp"
#include "system/library_path.hpp"
#include "system/process.hpp"
#include "topo/devices.hpp"
#include "topo/picture.hpp"
#include "topo/place.hpp"
#include "words/options.hpp"

namespace hr::launcher {
namespace {

constexpr int kCannotExecute = 127;

bool make_pipe(Descriptor* reading, Descriptor* writing) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  *reading = Descriptor(ends[0]);
  *writing = Descriptor(ends[1]);
  return true;
}

bool make_socket_pair(Descriptor* ours, Descriptor* theirs) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  *ours = Descriptor(ends[0]);
  *theirs = Descriptor(ends[1]);
  return true;
}

// Returns 0, or the errno that prevents programs from starting in the directory.
int check_directory(const std::string& directory) {
  struct stat state{};
  if (::stat(directory.c_str(), &state) != 0) return errno;
  return S_ISDIR(state.st_mode) ? 0 : ENOTDIR;
}

}  // namespace

bool HostRanks::prepare() {
  if (plan_.adopted >= 0) return true;
  const std::vector<int> appnums = plan_.appnums();
  std::set<int> here;
  for (const Rank& rank : ranks_) here.insert(appnums[static_cast<std::size_t>(rank.number)]);
  prepared_.resize(plan_.programs.size());
  const bool are_there = std::all_of(here.begin(), here.end(), [this](int program) {
    return prepare(program, &prepared_[static_cast<std::size_t>(program)]);
  });
  return are_there && place_ranks();
}

bool HostRanks::prepare(int number, Prepared* prepared) {
  const PlannedProgram& program = plan_.programs[static_cast<std::size_t>(number)];
  // The host need not be named if all ranks are on mpiexec's host.
  const std::string here = plan_.hosts.size() == 1 && plan_.root_host == 0 ? "" : " on host " + host_name();
  prepared->directory = directory_of(program);
  if (const int error = check_directory(prepared->directory); error != 0) {
    problem(kCannotExecute,
            "cannot start ranks in directory " + prepared->directory + here + ": " + std::strerror(error), number);
    return false;
  }
  const std::string& name = program.arguments[0];
  if (const int error = find_executable(name, prepared->directory, plan_.search_path, &prepared->path); error != 0) {
    problem(kCannotExecute, "cannot execute \"" + name + "\"" + here + ": " + std::strerror(error), number);
    return false;
  }
  prepared->environment = environment_here(program.environment, library_folder(), host_ == plan_.root_host);
  return true;
}

bool HostRanks::place_ranks() {
  if (ranks_.empty()) return true;
  Status status = kOk;
  if (plan_.machine != nullptr && host_ == plan_.root_host) {
    machine_ = *plan_.machine;
  } else if (plan_.mapping.bound || plan_.report_bindings) {
    topo::Needs needs = topo::needs_of(plan_.mapping);
    if (plan_.report_bindings) needs.add_everything();
    status = topo::read_machine("", needs, &machine_);
  }
  if (status.ok()) status = topo::place(machine_, static_cast<int>(ranks_.size()), plan_.mapping, &cpus_);
  find_spare_cpus();
  if (status.ok()) return true;
  problem(kUsageExit, "cannot place ranks on host " + host_name() + ": " + take_detail());
  return false;
}

// Finds the CPUs to which ranks may move if other programs keep the ranks' own CPUs busy: all of this host, if mpiexec
// has chosen the binding and there are more cores than ranks.
void HostRanks::find_spare_cpus() {
  const bool chosen = plan_.mapping.policy == topo::Mapping::Policy::kShare && plan_.mapping.bound;
  if (chosen && machine_.parts(topo::Level::kCore).size() > ranks_.size()) spare_cpus_ = as_ranges(machine_.allowed);
}

// Prints a line per rank, and a picture of all ranks.
void HostRanks::report_bindings() {
  const std::vector<topo::Nearest> nearest = topo::nearest_devices(machine_, cpus_);
  std::vector<int> numbers;
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    const std::string cpus = cpus_[at].empty() ? "" : as_ranges(cpus_[at]) + topo::text_of(nearest[at]);
    post(Message::Kind::kBound, ranks_[at], {ranks_[at].pid}, cpus);
    numbers.push_back(ranks_[at].number);
  }
  callbacks_.post({.kind = Message::Kind::kBound, .text = topo::picture(machine_, numbers, cpus_)});
}

bool HostRanks::make_boards() {
  for (const std::string& directory : plan_.shm_directories) {
    if (boards_.emplace_back().create(boot::FailureBoard::path(directory, plan_.id, host_), plan_.ranks()).ok())
      continue;
    problem(1, take_detail());
    return false;
  }
  return true;
}

// Takes over a rank that is already running. This process has only the rank's socket.
bool HostRanks::adopt(Rank& rank) {
  rank.pmi = Descriptor(plan_.adopted);
  loop_.watch(rank.pmi.get(), EPOLLIN, [this, &rank] { receive_pmi(rank); });
  return true;
}

void HostRanks::start() {
  if (ranks_.empty()) return;
  if (plan_.adopted >= 0) return static_cast<void>(adopt(ranks_.front()));
  if (plan_.keep_going && !make_boards()) return give_up_from(0);
  late_.begin();
  const std::vector<int> appnums = plan_.appnums();
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    Rank& rank = ranks_[at];
    if (!start_rank(rank, static_cast<std::size_t>(appnums[static_cast<std::size_t>(rank.number)]), cpus_[at])) {
      return give_up_from(at);
    }
  }
  if (plan_.report_bindings) report_bindings();
}

// Marks ranks that will never be started, so that nothing waits for them.
void HostRanks::give_up_from(std::size_t at) {
  for (; at < ranks_.size(); ++at) {
    ranks_[at].pid = -1;
    ranks_[at].ended = true;
    post(Message::Kind::kEnded, ranks_[at], {0, CLD_EXITED, 1, 0});
  }
}

// Returns the environment of a rank: the program's, with the variables that tell the rank, and scripts around it, its
// place.
std::vector<std::string> HostRanks::environment_of(const Rank& rank, std::size_t program, int pmi,
                                                   const topo::CpuSet& cpus) {
  RankPlace place{rank.number, plan_.ranks(), map_.place_of(rank.number), map_.count_at(map_.host_of(rank.number))};
  if (!plan_.spawned) place.node_rank = place.local_rank;
  std::vector<std::string> own = {"PMI_FD=" + std::to_string(pmi), "PMI_RANK=" + std::to_string(place.rank),
                                  "PMI_SIZE=" + std::to_string(place.ranks)};
  if (plan_.spawned) own.emplace_back("PMI_SPAWNED=1");
  if (!spare_cpus_.empty() && !cpus.empty())
    own.push_back(std::string(boot::kSpareCpus) + "=" + as_ranges(cpus) + "/" + spare_cpus_);
  if (std::string late = late_.variable_for(pmi); !late.empty()) own.push_back(std::move(late));
  std::vector<std::string> defaults = plan_.foreign_variables ? foreign_variables(place) : std::vector<std::string>();
  defaults.push_back("MPI_LOCALRANKID=" + std::to_string(place.local_rank));
  defaults.push_back("MPI_LOCALNRANKS=" + std::to_string(place.local_ranks));
  return with_variables(prepared_[program].environment, own, defaults);
}

bool HostRanks::start_rank(Rank& rank, std::size_t program, const topo::CpuSet& cpus) {
  const std::string number = std::to_string(rank.number);
  const auto cannot = [&](const std::string& what, const std::string& why, int exit_code) {
    const std::string here = plan_.hosts.size() == 1 ? "" : " on host " + host_name();
    problem(exit_code, "cannot " + what + " for rank " + number + here + ": " + why);
    return false;
  };
  Descriptor output, output_end, error, error_end, pmi_end;
  if (!make_pipe(&output, &output_end) || !make_pipe(&error, &error_end) || !make_socket_pair(&rank.pmi, &pmi_end)) {
    return cannot("make pipes", std::strerror(errno), 1);
  }
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int input = nothing.get();
  if (rank.number == 0 && !plan_.spawned) {
    input = callbacks_.standard_input();
    if (input < 0) input = input_.for_rank_0();
    if (input < 0) return cannot("make a pipe", std::strerror(errno), 1);
  }

  const std::vector<std::string> environment = environment_of(rank, program, pmi_end.get(), cpus);
  const auto arguments = as_pointers(plan_.programs[program].arguments);
  const auto variables = as_pointers(environment);
  ChildPlan plan;
  plan.path = prepared_[program].path.c_str();
  plan.arguments = arguments.data();
  plan.environment = variables.data();
  plan.directory = prepared_[program].directory.c_str();
  plan.standard_input = input;
  plan.standard_output = output_end.get();
  plan.standard_error = error_end.get();
  plan.kept = pmi_end.get();
  plan.cpus = &cpus;
  int reason = 0;
  rank.pid = start_process(plan, &reason);
  if (rank.pid < 0) {
    rank.pmi.close();
    return cannot("execute \"" + plan_.programs[program].arguments[0] + "\"",
                  why_not_executed(prepared_[program].path, prepared_[program].directory, reason), kCannotExecute);
  }
  rank.program_file = program_file_of(rank.pid);
  if (rank.program_file.empty()) rank.program_file = identity_of_file(prepared_[program].path);  // it has ended already
  if (rank.number == 0 && !plan_.spawned) input_.started();

  rank.outputs[0] = &forwarders_.emplace_back(loop_, std::move(output), callbacks_.target(rank.number, 0));
  rank.outputs[1] = &forwarders_.emplace_back(loop_, std::move(error), callbacks_.target(rank.number, 1));
  loop_.watch(rank.pmi.get(), EPOLLIN, [this, &rank] { receive_pmi(rank); });
  return true;
}

// Resolves a relative directory against the one where mpiexec was started.
std::string HostRanks::directory_of(const PlannedProgram& program) const {
  if (program.directory.empty()) return plan_.directory;
  return program.directory[0] == '/' ? program.directory : plan_.directory + "/" + program.directory;
}

std::string HostRanks::host_name() const { return plan_.hosts[static_cast<std::size_t>(host_)]; }

}  // namespace hr::launcher
