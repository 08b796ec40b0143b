#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "base/knobs.hpp"
#include "config.hpp"
#include "settings.hpp"

namespace hr::launcher {
namespace {

constexpr int kUsageExit = 2;
constexpr int kMostRanks = 65536;

constexpr const char* kUsage =
    "Usage: mpiexec [-n ranks] [options] program [arguments] [: [-n ranks] [options] program [arguments]]...\n";

constexpr const char* kExamples =
    "Examples:\n"
    "  mpiexec -n 4 ./program --its-option value\n"
    "  mpiexec -n 1 ./server : -n 3 ./client        two programs in one job\n"
    "  mpiexec -n 4 -l --timeout 60 ./program       label the output, end the job after a minute\n"
    "\n"
    "Long options are also taken with one dash (-np, -env, -wdir). Standard input goes to rank 0. The exit code is "
    "that\n"
    "of the first rank that failed, 128 + N for signal N, 124 after --timeout, 127 for a program that cannot be "
    "started.\n";

class Formatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return kUsage; }
};

// What one part of the command line sets.
struct Part {
  Program program;
  std::vector<Variable> variables;         // -env
  std::vector<std::string> exports;        // -x
  std::vector<Variable> global_variables;  // -genv
  bool show_settings = false;
};

void add_options(CLI::App& app, Options& options, Part& part) {
  static const std::map<std::string, topo::Binding> kBindings = {
      {"auto", topo::Binding::kShare}, {"core", topo::Binding::kCore}, {"none", topo::Binding::kNone}};
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("-V,--version", "mpiexec of Headrace " HEADRACE_VERSION)->description("Print it and exit");
  app.add_option("-n,--np", part.program.ranks, "Number of ranks (default 1)")->check(CLI::Range(1, kMostRanks));
  app.add_option("--env", part.variables, "NAME VALUE: an environment variable for this program")
      ->allow_extra_args(false);
  app.add_option("-x", part.exports, "NAME=VALUE, or NAME as it is: an environment variable for this program")
      ->allow_extra_args(false);
  app.add_option("--genv", part.global_variables, "NAME VALUE: an environment variable for all programs")
      ->allow_extra_args(false);
  app.add_option("--wdir,--wd", part.program.directory, "Directory the ranks start in")->check(CLI::ExistingDirectory);
  app.add_flag("-l,--label,--prepend-rank", options.label, "Begin each line of output with [rank]");
  app.add_option("--bind-to", options.binding,
                 "core: a core for each rank; none; auto (default): an equal share of neighbouring cores for each "
                 "rank, nothing when ranks outnumber cores")
      ->transform(CLI::CheckedTransformer(kBindings).description("{auto,core,none}"));
  app.add_flag("--report-bindings", options.report_bindings, "Say on standard error where each rank is bound");
  app.add_option("--timeout", options.timeout_seconds,
                 "End the job after so many seconds, say where each rank was, exit with 124")
      ->check(CLI::PositiveNumber);
  // What scripts for other launchers pass; here ranks may always outnumber cores.
  app.add_flag("--oversubscribe,--allow-run-as-root")->description("Accepted for compatibility; no effect");
  app.add_flag("--config", part.show_settings,
               "Print every setting with its value and where that comes from, and exit");
  app.footer(kExamples);
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// "-np" for "--np", where the option exists: the customary spelling of other launchers.
std::string normalised(const CLI::App& app, const std::string& word) {
  if (!is_option(word) || word[1] == '-' || word.size() == 2) return word;
  const std::string name = "-" + word.substr(0, word.find('='));
  return app.get_option_no_throw(name) != nullptr ? "-" + word : word;
}

// How many of the words belong to mpiexec: up to the first that is neither an option nor the value of one.
std::size_t count_option_words(const CLI::App& app, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && is_option(words[at])) {
    const CLI::Option* option = app.get_option_no_throw(words[at]);
    const bool has_value = option != nullptr && option->get_items_expected_max() > 0;
    at += 1 + (has_value ? static_cast<std::size_t>(option->get_type_size()) : 0);
  }
  return std::min(at, words.size());
}

// -x NAME=VALUE; a bare NAME is in the environment already, or it is nowhere.
void add_exports(const Part& part, std::vector<Variable>& environment) {
  for (const std::string& text : part.exports) {
    const auto equals = text.find('=');
    if (equals != std::string::npos) {
      environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    } else if (hr::environment(text.c_str()) == nullptr) {
      std::fprintf(stderr, "mpiexec: -x %s: there is no such variable to pass on\n", text.c_str());
    }
  }
}

// Parses one part into options; *exit_code when it ends the program.
bool parse_part(const std::vector<std::string>& words, Options& options, std::vector<Variable>& global_variables,
                int* exit_code) {
  CLI::App app("Starts an MPI program on this machine.", "mpiexec");
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(40);
  app.formatter(formatter);
  Part part;
  add_options(app, options, part);

  std::vector<std::string> own;
  for (const std::string& word : words) own.push_back(normalised(app, word));
  own.resize(count_option_words(app, own));
  part.program.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(own.size()), words.end());
  try {
    app.parse(std::vector<std::string>(own.rbegin(), own.rend()));
    if (part.show_settings) {
      print_settings();
      return false;
    }
    if (part.program.arguments.empty()) throw CLI::RequiredError("a program to run");
  } catch (const CLI::Success& asked) {  // --help, --version
    *exit_code = app.exit(asked);
    return false;
  } catch (const CLI::ExtrasError&) {
    std::fprintf(stderr, "mpiexec: unknown option");
    for (const std::string& word : app.remaining()) std::fprintf(stderr, " %s", word.c_str());
    std::fprintf(stderr, "\n%smpiexec --help lists the options\n", kUsage);
    *exit_code = kUsageExit;
    return false;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "mpiexec: %s\n%smpiexec --help lists the options\n", error.what(), kUsage);
    *exit_code = kUsageExit;
    return false;
  }
  part.program.environment = part.variables;
  add_exports(part, part.program.environment);
  global_variables.insert(global_variables.end(), part.global_variables.begin(), part.global_variables.end());
  options.programs.push_back(std::move(part.program));
  return true;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int* exit_code) {
  Options options;
  std::vector<Variable> global_variables;
  std::vector<std::string> words;
  for (int at = 1; at <= argc; ++at) {
    if (at < argc && std::string_view(argv[at]) != ":") {
      words.emplace_back(argv[at]);
      continue;
    }
    if (!parse_part(words, options, global_variables, exit_code)) return std::nullopt;
    words.clear();
  }
  if (options.ranks() > kMostRanks) {
    std::fprintf(stderr, "mpiexec: %d ranks; one job takes up to %d\n", options.ranks(), kMostRanks);
    *exit_code = kUsageExit;
    return std::nullopt;
  }
  // A program's own variables win over those for all.
  for (Program& program : options.programs) {
    program.environment.insert(program.environment.begin(), global_variables.begin(), global_variables.end());
  }
  return options;
}

}  // namespace hr::launcher
