#include "words/option_table.hpp"

#include <algorithm>
#include <cstdio>

#include "base/knobs.hpp"
#include "words/host_list.hpp"

namespace hr::launcher {
namespace {

// Return the member of the command line, of its present program, or of its placement.
template <class T>
T& member_of(ParseState& parsed, T ParseState::* at) {
  return parsed.*at;
}
template <class T>
T& member_of(ParseState& parsed, T Options::* at) {
  return parsed.options.*at;
}
template <class T>
T& member_of(ParseState& parsed, T Program::* at) {
  return parsed.program.*at;
}
template <class T>
T& member_of(ParseState& parsed, T MappingWords::* at) {
  return parsed.mapping.*at;
}

template <auto kMember>
Status turn_on(ParseState& parsed, const ParsedOption&) {
  member_of(parsed, kMember) = true;
  return kOk;
}
template <auto kMember>
Status take_text(ParseState& parsed, const ParsedOption& given) {
  member_of(parsed, kMember) = given.value();
  return kOk;
}
// `kWhat`: a description of the number, for the error.
template <auto kMember, const char* kWhat>
Status take_count(ParseState& parsed, const ParsedOption& given) {
  return read_count(given, kWhat, &member_of(parsed, kMember));
}

constexpr char kRanks[] = "the number of ranks", kRanksOnHost[] = "the number of ranks on a host",
               kHosts[] = "the number of hosts", kProcesses[] = "the number of processes",
               kCores[] = "the number of cores for a rank";

Status host_list(ParseState& parsed, const ParsedOption& given) {
  return read_host_list(given.word, given.value(), &parsed.program.hosts);
}

Status host_file(ParseState& parsed, const ParsedOption& given) {
  return read_host_file(given.word, given.value(), &parsed.program.hosts);
}

Status local_variable(ParseState& parsed, const ParsedOption& given) {
  parsed.program.environment.emplace_back(given.values[0], given.values[1]);
  return kOk;
}

Status global_variable(ParseState& parsed, const ParsedOption& given) {
  parsed.variables_of_all.emplace_back(given.values[0], given.values[1]);
  return kOk;
}

// Handles NAME=VALUE, or a bare NAME, whose value comes from mpiexec's environment.
Status exported(ParseState& parsed, const ParsedOption& given) {
  const auto equals = given.value().find('=');
  if (equals != std::string::npos) {
    parsed.program.environment.emplace_back(given.value().substr(0, equals), given.value().substr(equals + 1));
  } else if (const char* value = hr::environment(given.value().c_str())) {
    parsed.program.environment.emplace_back(given.value(), value);
  } else {
    std::fprintf(stderr, "mpiexec: %s: there is no such variable to pass on\n", given.text().c_str());
  }
  return kOk;
}

// Handle the options that pass all, no or only some variables of mpiexec on to a program, or to all programs.
template <auto kMember, bool kAll>
Status inherit(ParseState& parsed, const ParsedOption&) {
  member_of(parsed, kMember) = {kAll, {}, true};
  return kOk;
}
template <auto kMember>
Status inherit_list(ParseState& parsed, const ParsedOption& given) {
  member_of(parsed, kMember) = {false, split(given.value(), ','), true};
  return kOk;
}
constexpr auto kOfOne = &Program::inherited;
constexpr auto kOfAll = &ParseState::inherited_by_all;

Status no_foreign_variables(ParseState& parsed, const ParsedOption&) {
  parsed.options.foreign_variables = false;
  return kOk;
}

// Reads "DIR" or "DIR:nocopy".
Status read_output_directory(const ParsedOption& given, std::string text, Options* options) {
  constexpr std::string_view kNoCopy = ":nocopy";
  options->output_in_files_only = text.ends_with(kNoCopy);
  if (options->output_in_files_only) text.resize(text.size() - kNoCopy.size());
  if (text.empty()) return fail(Errc::kOther, "%s: a directory's name is missing", given.text().c_str());
  options->output_directory = std::move(text);
  return kOk;
}

Status output_files(ParseState& parsed, const ParsedOption& given) {
  return read_output_directory(given, given.value(), &parsed.options);
}

// Handles the words of Open MPI 5's --output: "tag", "dir=NAME", and the words for the form of labels. A note says that
// "timestamp" and "merge" have no effect; any other word is an error.
Status apply_output(ParseState& parsed, const ParsedOption& given) {
  for (const std::string& word : split(given.value(), ',')) {
    if (word.starts_with("tag") || word.starts_with("rank")) {
      parsed.options.label = true;
    } else if (word.starts_with("dir=")) {
      HR_TRY(read_output_directory(given, word.substr(4), &parsed.options));
    } else if (word == "timestamp") {
      parsed.without_effect.push_back(given.text() + ": timestamp (mpiexec ... | ts adds times)");
    } else if (word.starts_with("merge")) {
      parsed.without_effect.push_back(given.text() + ": " + word + " (2>&1 after the command line joins the two)");
    } else {
      return fail(Errc::kOther, "%s: mpiexec accepts tag, rank and dir=NAME, not \"%s\"", given.text().c_str(),
                  word.c_str());
    }
  }
  return kOk;
}

Status bind_to(ParseState& parsed, const ParsedOption& given) { return read_bind_to(given, &parsed.mapping); }
Status map_by(ParseState& parsed, const ParsedOption& given) { return read_map_by(given, &parsed.mapping); }
Status rank_by(ParseState& parsed, const ParsedOption& given) { return read_rank_by(given, &parsed.mapping); }

// Handles an older option as a value of a current one.
template <Status (*kRead)(const ParsedOption&, MappingWords*), const char* kValue>
Status same_as(ParseState& parsed, const ParsedOption& given) {
  return kRead({given.word, {kValue}}, &parsed.mapping);
}

constexpr char kCore[] = "core", kSocket[] = "socket", kNone[] = "none", kNode[] = "node", kSlot[] = "slot";
constexpr char kOversubscribe[] = ":oversubscribe", kNoOversubscribe[] = ":nooversubscribe";

Status per_socket(ParseState& parsed, const ParsedOption& given) {
  int number = 0;
  HR_TRY(read_count(given, "the number of ranks on a socket", &number));
  return read_map_by({given.word, {"ppr:" + given.value() + ":socket"}}, &parsed.mapping);
}

Status cpu_set(ParseState& parsed, const ParsedOption& given) {
  return read_cpu_set(given, &parsed.mapping.mapping.only);
}

Status machine(ParseState& parsed, const ParsedOption& given) {
  parsed.options.machines.push_back(given.value());
  return kOk;
}

Status save_machine(ParseState& parsed, const ParsedOption& given) {
  HR_TRY(topo::write_machine(given.value()));
  parsed.saved = true;
  return kOk;
}

Status timeout(ParseState& parsed, const ParsedOption& given) {
  HR_TRY(read_seconds(given.text(), given.value(), &parsed.options.timeout_seconds));
  parsed.options.timeout_origin = "--timeout";
  return kOk;
}

// Handles Intel MPI's option for its checking library; Headrace's checker is in every program.
Status check_calls(ParseState& parsed, const ParsedOption&) {
  parsed.variables_of_all.emplace_back("HEADRACE_CHECK", "full");
  return kOk;
}

Status report_transports(ParseState& parsed, const ParsedOption&) {
  parsed.variables_of_all.emplace_back("HEADRACE_REPORT_TRANSPORTS", "on");
  return kOk;
}

Status one_per_host(ParseState& parsed, const ParsedOption&) {
  parsed.program.per_host = 1;
  return kOk;
}

// Handles Open MPI's --stdin and Hydra's -s, which name the ranks that read standard input.
Status standard_input(ParseState&, const ParsedOption& given) {
  if (given.value() == "0") return kOk;
  if (given.value() == "none") return fail(Errc::kOther, "%s: write </dev/null instead", given.text().c_str());
  return fail(Errc::kOther, "%s: standard input is passed only to rank 0; let the others open a file",
              given.text().c_str());
}

Status fault_tolerance(ParseState& parsed, const ParsedOption& given) {
  if (given.value() == "ulfm" || given.value() == "mpi") {
    parsed.options.keep_going = true;
  } else if (given.value() != "no" && given.value() != "none") {
    return fail(Errc::kOther, "%s: mpiexec accepts ulfm and none", given.text().c_str());
  }
  return kOk;
}

using enum Arity;
constexpr auto kApplies = OptionEffect::kApplies;
constexpr auto kAlreadyTrue = OptionEffect::kAlreadyTrue;
constexpr auto kIgnored = OptionEffect::kIgnored;
constexpr auto kRefused = OptionEffect::kRefused;

constexpr OptionSpec kOptions[] = {
    // Ranks and hosts
    {"n np c ntasks", kOne, kApplies, take_count<&Program::ranks, kRanks>, "N",
     "Number of ranks (default: as the next four options determine, otherwise 1)"},
    {"ppn N npernode perhost grr ntasks-per-node", kOne, kApplies, take_count<&Program::per_host, kRanksOnHost>, "N",
     "Ranks on each host before the next one is used; without -n, that many on every host"},
    {"hosts host H", kOne, kApplies, host_list, "NAME[:N],...",
     "Where ranks run, and how many on each (default: equal shares); other hosts are reached by ssh. Without it: the "
     "hosts of the "
     "Slurm or PBS job, otherwise this one"},
    {"hostfile machinefile f default-hostfile", kOne, kApplies, host_file, "FILE",
     "A file of such names, one per line (\"NAME slots=N\" as well)"},
    {"nodes", kOne, kApplies, take_count<&Options::most_hosts, kHosts>, "N", "Only the first N of these hosts"},
    {"launcher launcher-exec bootstrap bootstrap-exec plm-rsh-agent", kOne, kApplies, take_text<&Options::launcher>,
     "COMMAND", "How other hosts are reached: ssh, srun, or a command with its options (also HEADRACE_LAUNCHER)"},
    {"nolocal skip-launch-node", kNoValue, kApplies, turn_on<&Options::not_here>, "", "No ranks on this host"},
    {"as-hosts", kOne, kApplies, take_count<&Options::as_hosts, kHosts>, "N",
     "As if this machine were N hosts: ranks on different ones share no memory and no GPU mapping, and communicate "
     "through the network transport, only over the loopback interface (also HEADRACE_AS_HOSTS)"},
    {"configfile app", kOne, kApplies, take_text<&ParseState::config_file>, "FILE",
     "Take the command line from a file: a program with its options on each line"},

    // Environment
    {"env", kVariable, kApplies, local_variable, "NAME VALUE", "An environment variable for this program"},
    {"x", kOne, kApplies, exported, "NAME=VALUE", "The same; NAME alone passes it on as it is"},
    {"genv", kVariable, kApplies, global_variable, "NAME VALUE", "An environment variable for all programs"},
    {"envlist", kOne, kApplies, inherit_list<kOfOne>, "NAME,...",
     "The only variables of mpiexec that this program receives"},
    {"genvlist", kOne, kApplies, inherit_list<kOfAll>, "NAME,...",
     "The only variables of mpiexec that all programs receive"},
    {"envnone", kNoValue, kApplies, inherit<kOfOne, false>, "", "This program receives no variable of mpiexec"},
    {"genvnone", kNoValue, kApplies, inherit<kOfAll, false>, "", "No program receives a variable of mpiexec"},
    {"envall envuser", kNoValue, kApplies, inherit<kOfOne, true>, "",
     "This program receives all variables of mpiexec (default)"},
    {"genvall genvuser", kNoValue, kApplies, inherit<kOfAll, true>, "",
     "All programs receive all variables of mpiexec (default)"},
    {"no-foreign-variables", kNoValue, kApplies, no_foreign_variables, "",
     "Do not set the variables by which Open MPI and MVAPICH tell ranks their places (OMPI_COMM_WORLD_RANK, "
     "MV2_COMM_WORLD_LOCAL_RANK...)"},
    {"wdir wd", kOne, kApplies, take_text<&Program::directory>, "DIR", "Directory in which the ranks start"},

    // Placement
    {"map-by", kOne, kApplies, map_by, "HOW",
     "bunch: near to one another; scatter: far from one another; bunch:LEVEL, scatter:LEVEL bind to that; "
     "hybrid:N[:linear|compact|spread]: N cores for the threads of each rank; core, hwthread, l1cache, l2cache, "
     "l3cache, "
     "numa, socket: round robin over these, bound to them unless --bind-to is given; ppr:N:LEVEL: N on each; "
     "slot: in the order of cores; node: round robin over hosts; pe-list=0,4,8. Suffixes: :PE=N (cores for each rank), "
     ":SPAN (all hosts as if one), :OVERSUBSCRIBE (no note), :NOOVERSUBSCRIBE (refuse more ranks than cores)"},
    {"bind-to", kOne, kApplies, bind_to, "LEVEL",
     "core, hwthread, l1cache, l2cache, l3cache, numa, socket, each also with :N for N of them; user:0,2-3,8+12: the "
     "CPUs "
     "of each rank of a host; none; auto (default): an equal share of neighbouring cores for each rank, nothing when "
     "ranks outnumber cores"},
    {"rank-by", kOne, kApplies, rank_by, "HOW",
     "How ranks are numbered: as they were mapped (default); slot: host by host; node: round robin over hosts; fill: "
     "part "
     "by part of --map-by; span: round robin over the parts of all hosts; numa, socket...: round robin over these"},
    {"cpus-per-rank cpus-per-proc cpus-per-task depth", kOne, kApplies,
     take_count<&MappingWords::cpus_per_rank, kCores>, "N", "The same as --map-by slot:PE=N"},
    {"cpu-set cpu-list slot-list", kOne, kApplies, cpu_set, "LIST", "Use only these CPUs of each host: 0,2,8-11"},
    {"use-hwthread-cpus", kNoValue, kApplies, turn_on<&MappingWords::hardware_threads>, "",
     "Each hardware thread counts as a core"},
    {"oversubscribe", kNoValue, kApplies, same_as<read_map_by, kOversubscribe>, "",
     "More ranks than cores are intended: no note about them"},
    {"nooversubscribe no-oversubscribe", kNoValue, kApplies, same_as<read_map_by, kNoOversubscribe>, "",
     "More ranks than cores are an error"},
    {"report-bindings display-map display-devel-map display-allocation print-rank-map v verbose", kNoValue, kApplies,
     turn_on<&Options::report_bindings>, "",
     "Print on standard error the binding of each rank and its nearest GPU and NIC, with a picture"},
    {"report-transports", kNoValue, kApplies, report_transports, "",
     "Print on standard error which transport carries the messages of each pair of hosts, and why"},
    {"do-not-launch", kNoValue, kApplies, turn_on<&Options::do_not_launch>, "",
     "Print the placement of ranks, and exit; see headrace map"},
    {"machine", kOne, kApplies, machine, "WHAT",
     "With --do-not-launch: a description of the hosts, an hwloc XML file or \"synthetic:pack:2 core:4 pu:2\"; once "
     "for all, or for each host"},
    {"json", kNoValue, kApplies, turn_on<&Options::json>, "", "With --do-not-launch: print JSON"},
    {"save-machine", kOne, kApplies, save_machine, "FILE",
     "Write a description of this machine as an hwloc XML file, and exit"},
    {"bind-to-core", kNoValue, kApplies, same_as<read_bind_to, kCore>, "", ""},
    {"bind-to-socket", kNoValue, kApplies, same_as<read_bind_to, kSocket>, "", ""},
    {"bind-to-none", kNoValue, kApplies, same_as<read_bind_to, kNone>, "", ""},
    {"pernode", kNoValue, kApplies, one_per_host, "", ""},
    {"bynode by-node rr", kNoValue, kApplies, same_as<read_map_by, kNode>, "", ""},
    {"byslot by-slot", kNoValue, kApplies, same_as<read_map_by, kSlot>, "", ""},
    {"bycore by-core", kNoValue, kApplies, same_as<read_map_by, kCore>, "", ""},
    {"bysocket by-socket", kNoValue, kApplies, same_as<read_map_by, kSocket>, "", ""},
    {"npersocket", kOne, kApplies, per_socket, "N", ""},
    {"display", kOne, kApplies, turn_on<&Options::report_bindings>, "WHAT", ""},

    {"usize universe-size", kOne, kApplies, take_count<&Options::universe, kProcesses>, "N",
     "MPI_UNIVERSE_SIZE: processes including those to be spawned (default: the hosts' slots, here the cores)"},

    // Output and the end
    {"check_mpi", kNoValue, kApplies, check_calls, "",
     "Detect mistakes of the program: the same as -genv HEADRACE_CHECK full (docs/checker.md)"},
    {"stdin s", kOne, kApplies, standard_input, "RANK", ""},
    {"with-ft", kOne, kApplies, fault_tolerance, "WHAT", ""},
    {"l label prepend-rank tag-output", kNoValue, kApplies, turn_on<&Options::label>, "",
     "Begin each line of output with [rank]"},
    {"output-filename", kOne, kApplies, output_files, "DIR",
     "Write what ranks print to DIR/1/rank.N/stdout and stderr as well; DIR:nocopy: only there"},
    {"save-counters", kOne, kApplies, take_text<&Options::save_counters>, "FILE",
     "Save the counters of all ranks in FILE at the end of the job (docs/counters.md)"},
    {"output", kOne, kApplies, apply_output, "WHAT", ""},
    {"timeout", kOne, kApplies, timeout, "SECONDS",
     "End the job after this time, print the stack of each rank, and exit with 124 (also MPIEXEC_TIMEOUT)"},
    {"enable-recovery disable-auto-cleanup", kNoValue, kApplies, turn_on<&Options::keep_going>, "",
     "A rank that dies does not end the job (MPI_Abort does): calls of the others return MPIX_ERR_PROC_FAILED"},
    {"q quiet", kNoValue, kApplies, turn_on<&Options::quiet>, "", "No notes about options without effect"},
    {"config", kNoValue, kApplies, turn_on<&ParseState::settings>, "",
     "Print every setting with its value and the origin of that, and exit"},
    {"list-options", kNoValue, kApplies, turn_on<&ParseState::list>, "",
     "Print the table of options as JSON, and exit"},
    {"h help", kNoValue, kApplies, turn_on<&ParseState::help>, "", "Print this help, and exit"},
    {"V version info build-info", kNoValue, kApplies, turn_on<&ParseState::version>, "", "Print the version, and exit"},

    // Options in scripts for other launchers. Each requests something that is always the case here.
    {"allow-run-as-root enable-auto-cleanup kill-on-bad-exit localonly disable-recovery hetero-nodes ordered-output "
     "no-transfer line-buffer mt_mpi",
     kNoValue, kAlreadyTrue, nullptr, "", ""},
    {"mpi pmi personality forward-signals", kOne, kAlreadyTrue, nullptr, "TYPE", ""},

    // Options that are meaningless for this library.
    {"membind mem-bind cpu-bind", kOne, kIgnored, nullptr, "WHAT", "--bind-to binds"},
    {"mca omca pmca prtemca pmixmca gmca gpmca", kTwo, kIgnored, nullptr, "NAME VALUE", ""},
    {"prte am tune", kOne, kIgnored, nullptr, "WHAT", ""},
    {"rmk topolib demux nameserver", kOne, kIgnored, nullptr, "NAME", ""},
    {"iface", kOne, kIgnored, nullptr, "NAME", "HEADRACE_NETWORK_DEVICES names networks"},
    {"prefix", kOne, kIgnored, nullptr, "DIR", "Headrace must be at the same path on every host"},
    {"prepend-pattern", kOne, kIgnored, nullptr, "TEXT", "-l labels lines with the rank"},
    {"timestamp-output", kNoValue, kIgnored, nullptr, "", "mpiexec ... | ts adds times"},
    {"merge-stderr-to-stdout", kNoValue, kIgnored, nullptr, "", "2>&1 after the command line joins the two"},
    {"tmpdir keepalive stream-buffering localhost report-pid report-uri max-restarts rlimits", kOne, kIgnored, nullptr,
     "VALUE", ""},
    {"print-all-exitcodes disable-hostname-propagation show-progress report-state-on-timeout get-stack-traces "
     "report-child-jobs-separately",
     kNoValue, kIgnored, nullptr, "", ""},
    {"noprefix noconf leave-session-attached debug-daemons debug-daemons-file do-not-resolve index-argv-by-rank "
     "loadbalance order-nodes pmi-port silent-abort nogpu rdma RDMA ofi OFI psm2 PSM2 ib IB shm dapl",
     kNoValue, kIgnored, nullptr, "", ""},

    // Options that do not exist here. Users must know, so each is an error whose message names the replacement.
    {"launch-agent preload-files preload-files-dest-dir path", kOne, kRefused, nullptr, "WHAT",
     "mpiexec does not copy or search files on hosts; name the program by its path, the same on all hosts"},
    {"preload-binary set-cwd-to-session-dir transfer", kNoValue, kRefused, nullptr, "",
     "mpiexec does not copy files to hosts; they must exist there"},
    {"rankfile rf", kOne, kRefused, nullptr, "FILE",
     "mpiexec reads no rank files; name hosts in the order of ranks with --hosts a:2,b:1, and the CPUs of each rank "
     "with --bind-to user:0,2-3,8+12"},
    {"gdb gdba debug debugger debug-devel d tv stop-on-exec stop-in-init stop-in-app", kNoValue, kRefused, nullptr, "",
     "mpiexec starts no debugger; put it before the program (mpiexec -n 2 xterm -e gdb --args ./program), or attach "
     "gdb -p PID to a rank; --timeout 60 shows where each rank waits"},
    {"xterm", kOne, kRefused, nullptr, "RANKS", "put it before the program: mpiexec -n 2 xterm -hold -e ./program"},
    {"gtool gtoolfile", kOne, kRefused, nullptr, "TOOL",
     "put the tool before the program (mpiexec -n 4 valgrind ./program); for only some ranks, split the command line: "
     "-n 1 valgrind ./program : -n 3 ./program"},
    {"trace t trace-pt2pt trace-collectives aps mps", kNoValue, kRefused, nullptr, "",
     "mpiexec writes no traces; use headrace top, --save-counters FILE, or a tool's own library in LD_PRELOAD"},
    {"outfile-pattern errfile-pattern outfile errfile", kOne, kRefused, nullptr, "PATTERN",
     "--output-filename DIR writes DIR/1/rank.N/stdout and stderr"},
    {"gpus-per-proc gpu-bind", kOne, kRefused, nullptr, "WHAT",
     "mpiexec hides no GPUs from ranks; let the program choose by MPI_LOCALRANKID, or start it by a script that sets "
     "CUDA_VISIBLE_DEVICES from that"},
    {"genvexcl envexcl", kOne, kRefused, nullptr, "NAME,...", "-genvlist and -envlist name the variables to pass on"},
    {"hosts-group exclude-hosts", kOne, kRefused, nullptr, "HOSTS", "--hosts a,b names the hosts to use"},
    {"bootstrap-exec-args rsh-args", kOne, kRefused, nullptr, "WORDS",
     "--launcher accepts the command with its arguments: --launcher 'ssh -p 2222'"},
    {"dvm dvm-uri hnp ompi-server", kOne, kRefused, nullptr, "WHERE",
     "mpiexec starts jobs itself and uses no daemons of other libraries; omit this option"},
    {"continuous", kNoValue, kRefused, nullptr, "", "--enable-recovery lets the others continue when a rank dies"},
    {"ilp64", kNoValue, kRefused, nullptr, "", "INTEGER has 4 bytes in the MPI ABI's Fortran bindings"},
    {"runtime-options", kOne, kRefused, nullptr, "WORDS",
     "write each word as an option: --do-not-launch, --enable-recovery"},
    {"xml", kNoValue, kRefused, nullptr, "", "headrace map --json prints the placement of ranks as JSON"},
};

}  // namespace

std::span<const OptionSpec> option_table() noexcept { return kOptions; }

std::vector<std::string_view> names_of(const OptionSpec& option) {
  std::vector<std::string_view> names;
  for (std::string_view rest = option.names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(' '));
    names.push_back(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return names;
}

const OptionSpec* find_option(std::string_view text, std::string* attached, bool* has_attached) {
  if (!text.starts_with('-')) return nullptr;
  std::string_view name = text.substr(text.starts_with("--") ? 2 : 1);
  const auto equals = name.find('=');
  *has_attached = equals != std::string_view::npos;
  if (*has_attached) *attached = name.substr(equals + 1);
  name = name.substr(0, equals);
  for (const OptionSpec& word : kOptions) {
    for (std::string_view rest = word.names; !rest.empty();) {
      const auto blank = rest.find(' ');
      if (rest.substr(0, blank) == name) return &word;
      rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
    }
  }
  return nullptr;
}

}  // namespace hr::launcher
