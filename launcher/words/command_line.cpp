#include "words/command_line.hpp"

#include <algorithm>
#include <cstdio>

#include "base/knobs.hpp"
#include "config.hpp"
#include "words/config_file.hpp"
#include "words/help.hpp"
#include "words/list_options.hpp"
#include "words/option_table.hpp"
#include "words/settings.hpp"
#include "words/suggest.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

using Words = std::vector<std::string>;

// Parts of the command line that are still to be read, and settings for all of them.
struct CommandLine {
  explicit CommandLine(Options& all) : options(all) {}
  Options& options;
  MappingWords mapping;
  std::vector<Words> parts;  // between ':' signs
  std::vector<Variable> variables_of_all;
  Inherited inherited_by_all;
  std::vector<std::string> without_effect;
  bool from_file = false;
  bool answered = false;  // --help or the like: nothing to run
};

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

const char* describe(Arity arity) { return arity == Arity::kOne ? "a value" : "two values"; }

// Splits NAME=VALUE into two words; false if there is no '='.
bool split_variable(Words& values) {
  const auto equals = values[0].find('=');
  if (equals == std::string::npos) return false;
  values.push_back(values[0].substr(equals + 1));
  values[0].resize(equals);
  return true;
}

// Reads the values of the option at words[*at], and moves *at past them.
Status take_values(const OptionSpec& word, const Words& words, std::size_t* at, const std::string* attached,
                   ParsedOption* given) {
  const std::string& text = words[(*at)++];
  given->word = attached != nullptr ? text.substr(0, text.find('=')) : text;
  if (word.arity == Arity::kNoValue) {
    if (attached == nullptr) return kOk;
    return fail(Errc::kOther, "%s: %s takes no value", text.c_str(), given->word.c_str());
  }
  std::size_t wanted = word.arity == Arity::kOne ? 1 : 2;
  if (attached != nullptr) given->values.push_back(*attached);
  while (given->values.size() < wanted && *at < words.size()) {
    if (word.arity == Arity::kVariable && given->values.size() == 1 && split_variable(given->values)) break;
    given->values.push_back(words[(*at)++]);
  }
  if (word.arity == Arity::kVariable && given->values.size() == 1) split_variable(given->values);
  if (given->values.size() == wanted) return kOk;
  return fail(Errc::kOther, "%s requires %s: %.*s", given->text().c_str(), describe(word.arity),
              static_cast<int>(word.values.size()), word.values.data());
}

// Fails with a message such as "unknown option --rankfil; did you mean --rankfile?"
Status unknown_option(const std::string& text) {
  const std::size_t dashes = text.starts_with("--") ? 2 : 1;
  const std::string name = text.substr(dashes, text.find('=') - dashes);
  std::vector<std::string_view> known;
  for (const OptionSpec& option : option_table()) {
    for (const std::string_view each : names_of(option)) {
      if (each.size() > 2) known.push_back(each);
    }
  }
  const std::string meant = nearest_word(name, known);
  if (meant.empty()) return fail(Errc::kOther, "unknown option %s", text.c_str());
  return fail(Errc::kOther, "unknown option %s; did you mean --%s?", text.c_str(), meant.c_str());
}

// Reads options up to the first word that is neither an option nor a value of one.
Status read_options(const Words& words, ParseState& parsed, std::size_t* at) {
  while (*at < words.size() && is_option(words[*at])) {
    if (words[*at] == "--") {
      ++*at;
      break;
    }
    std::string attached;
    bool has_attached = false;
    const OptionSpec* word = find_option(words[*at], &attached, &has_attached);
    if (word == nullptr) return unknown_option(words[*at]);
    ParsedOption given;
    HR_TRY(take_values(*word, words, at, has_attached ? &attached : nullptr, &given));
    if (word->effect == OptionEffect::kRefused) {
      return fail(Errc::kOther, "%s: %.*s", given.text().c_str(), static_cast<int>(word->help.size()),
                  word->help.data());
    }
    if (word->effect == OptionEffect::kIgnored) {
      const std::string instead = word->help.empty() ? "" : " (" + std::string(word->help) + ")";
      parsed.without_effect.push_back(given.text() + instead);
    }
    if (word->apply != nullptr) HR_TRY(word->apply(parsed, given));
    if (parsed.help || parsed.version || parsed.settings || parsed.list || parsed.saved) return kOk;
  }
  return kOk;
}

// Handles --help and the like; true if there was such an option.
bool answer(const ParseState& parsed) {
  if (parsed.help) {
    print_help();
  } else if (parsed.version) {
    std::printf("mpiexec of Headrace " HEADRACE_VERSION "\n");
  } else if (parsed.settings) {
    print_settings();
  } else if (parsed.list) {
    list_options();
  } else if (!parsed.saved) {
    return false;
  }
  return true;
}

// Replaces the part of the command line that names a file with the programs in that file.
Status insert_file(CommandLine& line, const ParseState& parsed, const Words& words, std::size_t at, std::size_t part) {
  const std::string option = "-configfile " + parsed.config_file;
  if (line.from_file) return fail(Errc::kOther, "%s: a file cannot name another one", option.c_str());
  if (at < words.size()) {
    return fail(Errc::kOther, "%s: the file contains the programs; \"%s\" after it is not allowed", option.c_str(),
                words[at].c_str());
  }
  std::vector<Words> inserted;
  HR_TRY(read_config_file(parsed.config_file, &inserted));
  line.from_file = true;
  line.parts.insert(line.parts.begin() + static_cast<std::ptrdiff_t>(part) + 1, inserted.begin(), inserted.end());
  return kOk;
}

Status read_part(CommandLine& line, std::size_t part) {
  const Words words = line.parts[part];
  ParseState parsed(line.options, line.mapping);
  parsed.inherited_by_all = line.inherited_by_all;
  std::size_t at = 0;
  HR_TRY(read_options(words, parsed, &at));
  line.answered = answer(parsed);
  if (line.answered) return kOk;

  line.inherited_by_all = parsed.inherited_by_all;
  const auto append = [](auto& whole, auto& more) { whole.insert(whole.end(), more.begin(), more.end()); };
  append(line.variables_of_all, parsed.variables_of_all);
  append(line.without_effect, parsed.without_effect);
  if (!parsed.config_file.empty()) return insert_file(line, parsed, words, at, part);

  // The placement of ranks can be requested without naming a program.
  if (at == words.size() && !line.options.do_not_launch) return fail(Errc::kOther, "no program is specified");
  Program& program = parsed.program;
  program.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  line.options.programs.push_back(std::move(program));
  return kOk;
}

// Reads Hydra's variable; the option takes precedence. In the variable, 0 and -1 mean no limit.
Status read_timeout_variable(Options& options) {
  const char* text = hr::environment("MPIEXEC_TIMEOUT");
  if (text == nullptr || options.timeout_seconds > 0) return kOk;
  const std::string value = text;
  if (value.empty() || value == "0" || value == "-1") return kOk;
  options.timeout_origin = "MPIEXEC_TIMEOUT";
  return read_seconds("MPIEXEC_TIMEOUT=" + value, value, &options.timeout_seconds);
}

// Applies the settings for all programs; a program's own settings take precedence. A list of hosts applies to its
// program and those after it.
void share(const CommandLine& line) {
  for (Program& program : line.options.programs) {
    if (line.options.hosts.empty()) line.options.hosts = program.hosts;
    if (!program.inherited.given) program.inherited = line.inherited_by_all;
    program.environment.insert(program.environment.begin(), line.variables_of_all.begin(), line.variables_of_all.end());
  }
}

Status read_all(CommandLine& line) {
  for (std::size_t part = 0; part < line.parts.size(); ++part) {
    HR_TRY(read_part(line, part));
    if (line.answered) return kOk;
  }
  HR_TRY(read_timeout_variable(line.options));
  HR_TRY(make_mapping(line.mapping, &line.options.mapping));
  if (!line.mapping.oversubscription_given) {
    line.options.mapping.allow_oversubscription = knobs().oversubscribe != OversubscribeChoice::kRefuse;
    line.options.note_oversubscription = !line.options.quiet && knobs().oversubscribe == OversubscribeChoice::kNote;
  }
  share(line);
  return kOk;
}

void report_ignored_options(const CommandLine& line) {
  if (line.options.quiet || line.without_effect.empty()) return;
  std::string all;
  for (const std::string& each : line.without_effect) all += (all.empty() ? "" : ", ") + each;
  std::fprintf(stderr, "mpiexec: without effect here: %s\n", all.c_str());
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int* exit_code) {
  Options options;
  CommandLine line(options);
  line.parts.emplace_back();
  for (int at = 1; at < argc; ++at) {
    if (std::string_view(argv[at]) == ":") {
      line.parts.emplace_back();
    } else {
      line.parts.back().emplace_back(argv[at]);
    }
  }
  if (!read_all(line).ok()) {
    std::fprintf(stderr, "mpiexec: %s\n%smpiexec --help lists the options\n", take_detail().c_str(), kUsage);
    *exit_code = kUsageExit;
    return std::nullopt;
  }
  if (line.answered) return std::nullopt;
  report_ignored_options(line);
  return options;
}

}  // namespace hr::launcher
