#include "words.hpp"

#include <sys/stat.h>

#include <cstdio>

#include "base/knobs.hpp"
#include "hosts.hpp"
#include "values.hpp"

namespace hr::launcher {
namespace {

Status ranks(Reading& reading, const Given& given) { return read_count(given, "the number of ranks", &reading.ranks); }

Status ranks_per_host(Reading& reading, const Given& given) {
  return read_count(given, "the number of ranks on a host", &reading.per_host);
}

// One host takes all ranks of a job that was meant for several; asking for several hosts is another matter.
Status number_of_hosts(Reading&, const Given& given) {
  int hosts = 0;
  HR_TRY(read_count(given, "the number of hosts", &hosts));
  if (hosts == 1) return kOk;
  return fail(Errc::kOther, "%s: this version of Headrace starts ranks on one host only", given.text().c_str());
}

Status as_hosts(Reading& reading, const Given& given) {
  return read_count(given, "the number of hosts", &reading.options.hosts);
}

Status host_list(Reading& reading, const Given& given) {
  return read_host_list(given.word, given.value(), &reading.slots);
}

Status host_file(Reading& reading, const Given& given) {
  return read_host_file(given.word, given.value(), &reading.slots);
}

Status local_variable(Reading& reading, const Given& given) {
  reading.program.environment.emplace_back(given.values[0], given.values[1]);
  return kOk;
}

Status global_variable(Reading& reading, const Given& given) {
  reading.variables_of_all.emplace_back(given.values[0], given.values[1]);
  return kOk;
}

// NAME=VALUE; a bare NAME is in the environment already, or it is nowhere.
Status exported(Reading& reading, const Given& given) {
  const auto equals = given.value().find('=');
  if (equals != std::string::npos) {
    reading.program.environment.emplace_back(given.value().substr(0, equals), given.value().substr(equals + 1));
  } else if (const char* value = hr::environment(given.value().c_str())) {
    reading.program.environment.emplace_back(given.value(), value);
  } else {
    std::fprintf(stderr, "mpiexec: %s: there is no such variable to pass on\n", given.text().c_str());
  }
  return kOk;
}

Status inherit_all(Reading& reading, const Given&) {
  reading.program.inherited = {true, {}, true};
  return kOk;
}

Status inherit_none(Reading& reading, const Given&) {
  reading.program.inherited = {false, {}, true};
  return kOk;
}

Status inherit_list(Reading& reading, const Given& given) {
  reading.program.inherited = {false, split(given.value(), ','), true};
  return kOk;
}

Status all_inherit_all(Reading& reading, const Given&) {
  reading.inherited_by_all = {true, {}, true};
  return kOk;
}

Status all_inherit_none(Reading& reading, const Given&) {
  reading.inherited_by_all = {false, {}, true};
  return kOk;
}

Status all_inherit_list(Reading& reading, const Given& given) {
  reading.inherited_by_all = {false, split(given.value(), ','), true};
  return kOk;
}

Status directory(Reading& reading, const Given& given) {
  struct stat state{};
  if (::stat(given.value().c_str(), &state) != 0 || !S_ISDIR(state.st_mode)) {
    return fail(Errc::kOther, "%s: there is no such directory", given.text().c_str());
  }
  reading.program.directory = given.value();
  return kOk;
}

Status label(Reading& reading, const Given&) {
  reading.options.label = true;
  return kOk;
}

Status output_files(Reading& reading, const Given& given) {
  return read_output_directory(given, given.value(), &reading.options);
}

// Open MPI 5: "tag", "dir=NAME", and words about the form of the labels.
Status output_words(Reading& reading, const Given& given) {
  for (const std::string& word : split(given.value(), ',')) {
    if (word.starts_with("tag") || word.starts_with("rank")) {
      reading.options.label = true;
    } else if (word.starts_with("dir=")) {
      HR_TRY(read_output_directory(given, word.substr(4), &reading.options));
    } else {
      return fail(Errc::kOther, "%s: mpiexec knows tag and dir=NAME, not \"%s\"", given.text().c_str(), word.c_str());
    }
  }
  return kOk;
}

Status bind_to(Reading& reading, const Given& given) { return read_binding(given, &reading.options.placing); }
Status map_by(Reading& reading, const Given& given) {
  return read_mapping(given, &reading.options.placing, &reading.per_host);
}

Status bind_to_core(Reading& reading, const Given&) {
  reading.options.placing.binding = topo::Binding::kCore;
  return kOk;
}

Status bind_to_socket(Reading& reading, const Given&) {
  reading.options.placing.binding = topo::Binding::kSocket;
  return kOk;
}

Status bind_to_none(Reading& reading, const Given&) {
  reading.options.placing.binding = topo::Binding::kNone;
  return kOk;
}

Status threads_as_cores(Reading& reading, const Given&) {
  reading.options.placing.threads = true;
  return kOk;
}

Status report_bindings(Reading& reading, const Given&) {
  reading.options.report_bindings = true;
  return kOk;
}

Status timeout(Reading& reading, const Given& given) {
  HR_TRY(read_seconds(given.text(), given.value(), &reading.options.timeout_seconds));
  reading.options.timeout_origin = "--timeout";
  return kOk;
}

Status keep_going(Reading& reading, const Given&) {
  reading.options.keep_going = true;
  return kOk;
}

Status quiet(Reading& reading, const Given&) {
  reading.options.quiet = true;
  return kOk;
}

Status config_file(Reading& reading, const Given& given) {
  reading.config_file = given.value();
  return kOk;
}

Status help(Reading& reading, const Given&) {
  reading.help = true;
  return kOk;
}

Status version(Reading& reading, const Given&) {
  reading.version = true;
  return kOk;
}

Status settings(Reading& reading, const Given&) {
  reading.settings = true;
  return kOk;
}

using enum Takes;
constexpr auto kEffect = Meaning::kEffect;
constexpr auto kSoHere = Meaning::kSoHere;
constexpr auto kNone = Meaning::kNothing;
constexpr auto kHosts = Meaning::kHosts;

constexpr Word kWords[] = {
    // Ranks and hosts
    {"n np c ntasks", kOne, kEffect, ranks, "N", "Number of ranks (default 1, or what the next four say)"},
    {"ppn N npernode perhost ntasks-per-node", kOne, kEffect, ranks_per_host, "N",
     "Ranks on a host; here that is the number of ranks, where -n does not say it"},
    {"hosts host H", kOne, kEffect, host_list, "NAME[:N],...",
     "This machine (localhost, its name, an address); N ranks, where -n does not say it"},
    {"hostfile machinefile f default-hostfile", kOne, kEffect, host_file, "FILE",
     "A file of such names, one a line (\"NAME slots=N\" as well)"},
    {"nodes", kOne, kEffect, number_of_hosts, "1", "Number of hosts"},
    {"as-hosts", kOne, kEffect, as_hosts, "N",
     "As if this machine were N hosts: ranks on different ones share no memory and no GPU mapping, and talk through "
     "the "
     "network transport (also HEADRACE_AS_HOSTS)"},
    {"configfile app", kOne, kEffect, config_file, "FILE",
     "Take the command line from a file: a program with its options on each line"},

    // Environment
    {"env", kVariable, kEffect, local_variable, "NAME VALUE", "An environment variable for this program"},
    {"x", kOne, kEffect, exported, "NAME=VALUE", "The same; NAME alone passes it on as it is"},
    {"genv", kVariable, kEffect, global_variable, "NAME VALUE", "An environment variable for all programs"},
    {"envlist", kOne, kEffect, inherit_list, "NAME,...", "Of mpiexec's own variables this program gets only these"},
    {"genvlist", kOne, kEffect, all_inherit_list, "NAME,...", "All programs get only these"},
    {"envnone", kNothing, kEffect, inherit_none, "", "This program gets none of them"},
    {"genvnone", kNothing, kEffect, all_inherit_none, "", "No program gets any of them"},
    {"envall", kNothing, kEffect, inherit_all, "", "This program gets all of them (default)"},
    {"genvall", kNothing, kEffect, all_inherit_all, "", "All programs get all of them (default)"},
    {"wdir wd", kOne, kEffect, directory, "DIR", "Directory the ranks start in"},

    // Places
    {"bind-to", kOne, kEffect, bind_to, "PLACE",
     "core, hwthread, numa, socket: one for each rank, in turns; none; auto (default): an equal share of neighbouring "
     "cores for "
     "each rank, nothing when ranks outnumber cores"},
    {"map-by", kOne, kEffect, map_by, "PLACE",
     "core, hwthread, numa, socket: ranks go round these in turns, and are bound to them unless --bind-to says "
     "otherwise; ppr:N:PLACE: N ranks follow one another; slot, node: as they come (default)"},
    {"use-hwthread-cpus", kNothing, kEffect, threads_as_cores, "", "Each hardware thread counts as a core"},
    {"report-bindings display-map display-devel-map display-allocation v verbose", kNothing, kEffect, report_bindings,
     "", "Say on standard error where each rank is bound"},
    {"bind-to-core", kNothing, kEffect, bind_to_core, "", ""},
    {"bind-to-socket", kNothing, kEffect, bind_to_socket, "", ""},
    {"bind-to-none", kNothing, kEffect, bind_to_none, "", ""},
    {"display", kOne, kEffect, report_bindings, "WHAT", ""},

    // Output and the end
    {"l label prepend-rank tag-output", kNothing, kEffect, label, "", "Begin each line of output with [rank]"},
    {"output-filename", kOne, kEffect, output_files, "DIR",
     "Write what ranks print to DIR/1/rank.N/stdout and stderr as well; DIR:nocopy: only there"},
    {"output", kOne, kEffect, output_words, "WHAT", ""},
    {"timeout", kOne, kEffect, timeout, "SECONDS",
     "End the job after so many seconds, say where each rank was, exit with 124 (also MPIEXEC_TIMEOUT)"},
    {"disable-auto-cleanup enable-recovery", kNothing, kEffect, keep_going, "",
     "A rank that dies does not end the job (MPI_Abort does)"},
    {"q quiet", kNothing, kEffect, quiet, "", "No notes about options without effect"},
    {"config", kNothing, kEffect, settings, "",
     "Print every setting with its value and where that comes from, and exit"},
    {"h help", kNothing, kEffect, help, "", "Print this and exit"},
    {"V version", kNothing, kEffect, version, "", "Print it and exit"},

    // Scripts for other launchers: so anyway.
    {"oversubscribe allow-run-as-root enable-auto-cleanup kill-on-bad-exit localonly", kNothing, kSoHere, nullptr, "",
     ""},
    {"bynode by-node byslot by-slot bycore by-core", kNothing, kSoHere, nullptr, "", ""},
    {"mpi personality", kOne, kSoHere, nullptr, "TYPE", ""},

    // No meaning on one machine, or to this library.
    {"rank-by membind cpu-bind cpus-per-task cpus-per-rank", kOne, kNone, nullptr, "WHAT", ""},
    {"mca omca pmca prtemca pmixmca gmca gpmca", kTwo, kNone, nullptr, "NAME VALUE", ""},
    {"prte am tune", kOne, kNone, nullptr, "WHAT", ""},
    {"launcher bootstrap launcher-exec bootstrap-exec rmk iface topolib demux nameserver", kOne, kNone, nullptr, "NAME",
     ""},
    {"print-all-exitcodes disable-hostname-propagation show-progress report-state-on-timeout get-stack-traces",
     kNothing, kNone, nullptr, "", ""},

    // Several hosts.
    {"nolocal skip-launch-node", kNothing, kHosts, nullptr, "", ""},
    {"launch-agent plm-rsh-agent preload-files", kOne, kHosts, nullptr, "WHAT", ""},
    {"preload-binary", kNothing, kHosts, nullptr, "", ""},
};

}  // namespace

std::string Given::text() const {
  std::string text = word;
  for (const std::string& value : values) text += " " + value;
  return text;
}

std::span<const Word> words() noexcept { return kWords; }

const Word* find_word(std::string_view text, std::string* attached, bool* has_attached) {
  if (!text.starts_with('-')) return nullptr;
  std::string_view name = text.substr(text.starts_with("--") ? 2 : 1);
  const auto equals = name.find('=');
  *has_attached = equals != std::string_view::npos;
  if (*has_attached) *attached = name.substr(equals + 1);
  name = name.substr(0, equals);
  for (const Word& word : kWords) {
    for (std::string_view rest = word.names; !rest.empty();) {
      const auto blank = rest.find(' ');
      if (rest.substr(0, blank) == name) return &word;
      rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
    }
  }
  return nullptr;
}

}  // namespace hr::launcher
