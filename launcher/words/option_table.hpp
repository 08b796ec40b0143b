// The options of mpiexec's command line, as data: Headrace's, and those that scripts written for other launchers use.
//
// An option of the table is accepted with one dash or two. Nothing else is an option: no abbreviations, no bundled
// letters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "words/mapping_words.hpp"
#include "words/options.hpp"
#include "words/values.hpp"

namespace hr::launcher {

enum class OptionEffect {
  kApplies,      // has the effect that the help describes
  kAlreadyTrue,  // requests something that is always the case: accepted silently
  kIgnored,      // has no meaning for this library: accepted with a note
  kRefused,      // requests something that does not exist and that the user would miss: an error
};

enum class Arity {
  kNoValue,
  kOne,
  kTwo,
  kVariable,  // NAME VALUE, or NAME=VALUE
};

// State of reading one part of the command line.
struct ParseState {
  ParseState(Options& all, MappingWords& words) : options(all), mapping(words) {}
  Options& options;
  MappingWords& mapping;
  Program program;
  Inherited inherited_by_all;
  std::vector<Variable> variables_of_all;
  std::string config_file;
  std::vector<std::string> without_effect;  // options that have no effect, as written, with their values
  bool help = false;
  bool version = false;
  bool settings = false;
  bool list = false;   // --list-options
  bool saved = false;  // --save-machine
};

struct OptionSpec {
  std::string_view names;  // without dashes, separated by blanks; the help shows the first
  Arity arity;
  OptionEffect effect;
  Status (*apply)(ParseState&, const ParsedOption&);  // null if the option needs no action
  std::string_view values;                            // placeholder for the help, such as "SECONDS"
  std::string_view help;                              // kIgnored and kRefused: the replacement, for the message
};

std::span<const OptionSpec> option_table() noexcept;

// Returns the names of an option, without dashes.
std::vector<std::string_view> names_of(const OptionSpec& option);

// Returns the option that `text` names, with one dash or two; null if there is none. *attached: receives the text after
// '='.
const OptionSpec* find_option(std::string_view text, std::string* attached, bool* has_attached);

}  // namespace hr::launcher
