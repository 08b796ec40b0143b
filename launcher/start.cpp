// The beginning of a job: programs found, ranks placed and started.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/knobs.hpp"
#include "job.hpp"
#include "library_path.hpp"
#include "process.hpp"
#include "topo/picture.hpp"

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

}  // namespace

HostSplit Job::hosts() const {
  return {options_.ranks(), options_.hosts != 0 ? options_.hosts : static_cast<int>(knobs().as_hosts)};
}

bool Job::prepare_programs() {
  const std::string library = library_folder();
  for (const Program& program : options_.programs) {
    std::string path;
    const std::string& name = program.arguments[0];
    if (const int error = find_executable(name, program.directory, &path); error != 0) {
      say("cannot execute \"" + name + "\": " + std::strerror(error));
      exit_code_ = kCannotExecute;
      return false;
    }
    paths_.push_back(path);
    environments_.push_back(make_environment(program.inherited, program.environment, library));
  }
  return true;
}

bool Job::start_all() {
  const int total = options_.ranks();
  std::vector<int> appnums;
  for (std::size_t program = 0; program < options_.programs.size(); ++program) {
    appnums.insert(appnums.end(), static_cast<std::size_t>(options_.programs[program].ranks),
                   static_cast<int>(program));
  }
  PmiServer::Callbacks callbacks;
  callbacks.send = [this](int rank, std::string_view line) {
    const std::string text = std::string(line) + "\n";
    // A rank asks one thing at a time and reads the answer, so there is room; one that is gone needs none.
    ::send(ranks_[static_cast<std::size_t>(rank)].pmi.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  };
  callbacks.abort = [this](int rank, int code) {
    // A job that was given up must not look like one that went well.
    const int exit_code = (code & 0xff) == 0 ? 1 : code & 0xff;
    fail(exit_code, name_of(ranks_[static_cast<std::size_t>(rank)]) + " called MPI_Abort with code " +
                        std::to_string(code) +
                        (exit_code == code ? "" : " (exit code " + std::to_string(exit_code) + ")"));
  };
  callbacks.crashed = [this](int rank, int signal) { on_crash(ranks_[static_cast<std::size_t>(rank)], signal); };
  pmi_ = std::make_unique<PmiServer>(id_, appnums, hosts(), std::move(callbacks));

  raise_descriptor_limit();
  ranks_.resize(static_cast<std::size_t>(total));
  for (int number = 0; number < total; ++number) {
    const auto at = static_cast<std::size_t>(number);
    ranks_[at].number = number;
    if (!start_rank(ranks_[at], static_cast<std::size_t>(appnums[at]), plan_.cpus[at])) return false;
  }
  if (options_.report_bindings) report_bindings();
  return true;
}

bool Job::start_rank(Rank& rank, std::size_t program, const topo::CpuSet& cpus) {
  const std::string number = std::to_string(rank.number);
  const auto cannot = [&](const char* what, int error, int exit_code) {
    fail(exit_code, "cannot " + std::string(what) + " for rank " + number + ": " + std::strerror(error));
    return false;
  };
  Descriptor output, output_end, error, error_end, pmi_end;
  if (!make_pipe(&output, &output_end) || !make_pipe(&error, &error_end) || !make_socket_pair(&rank.pmi, &pmi_end)) {
    return cannot("make pipes", errno, 1);
  }
  OutputFile output_file, error_file;
  if (!options_.output_directory.empty()) {
    const int digits = static_cast<int>(std::to_string(ranks_.size() - 1).size());
    for (auto [file, stream] : {std::pair(&output_file, "stdout"), std::pair(&error_file, "stderr")}) {
      const int reason = file->open(options_.output_directory, rank.number, digits, stream);
      if (reason != 0) return cannot(("write " + file->path()).c_str(), reason, 1);
    }
  }
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string total = std::to_string(ranks_.size());
  const HostSplit split = hosts();
  const int host = split.host_of(rank.number);

  std::vector<std::string> environment = environments_[program];
  environment.insert(environment.end(),
                     {"PMI_FD=" + std::to_string(pmi_end.get()), "PMI_RANK=" + number, "PMI_SIZE=" + total,
                      "MPI_LOCALRANKID=" + std::to_string(rank.number - split.first_rank(host)),
                      "MPI_LOCALNRANKS=" + std::to_string(split.ranks_of(host))});
  const auto arguments = as_pointers(options_.programs[program].arguments);
  const auto variables = as_pointers(environment);
  ChildPlan plan;
  plan.path = paths_[program].c_str();
  plan.arguments = arguments.data();
  plan.environment = variables.data();
  const std::string& directory = options_.programs[program].directory;
  plan.directory = directory.empty() ? nullptr : directory.c_str();
  plan.standard_input = rank.number == 0 ? input_.for_rank_0() : nothing.get();
  plan.standard_output = output_end.get();
  plan.standard_error = error_end.get();
  plan.kept = pmi_end.get();
  plan.cpus = &cpus;
  int reason = 0;
  rank.pid = start_process(plan, &reason);
  if (rank.pid < 0) {
    return cannot(("execute \"" + options_.programs[program].arguments[0] + "\"").c_str(), reason, kCannotExecute);
  }
  ++running_;
  if (rank.number == 0) input_.started();

  const std::string label = options_.label ? "[" + number + "] " : "";
  const bool to_sink = !options_.output_in_files_only;
  forwarders_.emplace_back(loop_, std::move(output), output_, label, std::move(output_file), to_sink);
  forwarders_.emplace_back(loop_, std::move(error), error_, label, std::move(error_file), to_sink);
  loop_.watch(rank.pmi.get(), EPOLLIN, [this, &rank] { receive_pmi(rank); });
  return true;
}

void Job::report_bindings() {
  for (const Rank& rank : ranks_) {
    const auto at = static_cast<std::size_t>(rank.number);
    const topo::CpuSet& cpus = plan_.cpus[at];
    say(name_of(rank) +
        (cpus.empty() ? " is not bound" : " is bound to CPU " + as_ranges(cpus) + nearest_text(plan_.nearest[at])));
  }
  const std::vector<int> ranks = plan_.ranks_on(0);
  error_.write(this, topo::picture(*plan_.hosts[0].machine, ranks, plan_.cpus));
}

}  // namespace hr::launcher
