// OptionTable: the options of a program as data, from which its command line is parsed and its help printed.
//
// Used by the programs, and by the benchmarks, which are also built with other MPI libraries. So it is a single header
// that needs only the standard library. Owner: main. The parsers hold references to the variables that they set; these
// variables must outlive the table.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace command_line {

enum class ParseResult { kRun, kHelp, kError };

class OptionTable {
 public:
  using Parser = std::function<bool(const std::string& value)>;  // false: not a valid value

  // `argument` names the value in the help; if it is empty, the option is a flag, and its parser is passed "". `wants`
  // describes a valid value in messages; if it is empty, `argument` does. '\n' separates the lines of `help`.
  void add(std::string name, std::string argument, std::string help, Parser parse, std::string wants = {}) {
    if (wants.empty()) wants = argument;
    options_.push_back({std::move(name), std::move(argument), std::move(help), std::move(wants), std::move(parse)});
  }
  void add_flag(std::string name, std::string help, bool& into, bool value = true) {
    add(std::move(name), "", std::move(help), [&into, value](const std::string&) {
      into = value;
      return true;
    });
  }
  void add_text(std::string name, std::string argument, std::string help, std::string& into, std::string wants = {}) {
    const auto parse = [&into](const std::string& value) { return !(into = value).empty(); };
    add(std::move(name), std::move(argument), std::move(help), parse, std::move(wants));
  }

  // If the result is kError, `message` explains the error, and gives the form of a valid value if the value is wrong.
  [[nodiscard]] ParseResult parse(int argc, char** argv, std::string& message) const {
    for (int i = 1; i < argc; ++i) {
      std::string name = argv[i], value;
      if (name == "--help" || name == "-h") return ParseResult::kHelp;
      const std::size_t equals = name.find('=');
      bool has_value = equals != std::string::npos;
      if (has_value) {
        value = name.substr(equals + 1);
        name.resize(equals);
      }
      const auto known =
          std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name; });
      if (known == options_.end()) {
        message = "unknown option '" + name + "'; --help lists those there are";
        return ParseResult::kError;
      }
      const bool is_flag = known->argument.empty();
      if (!is_flag && !has_value && i + 1 < argc) {
        value = argv[++i];
        has_value = true;
      }
      if (is_flag == has_value || !known->parse(value)) {
        message = name + (is_flag ? " takes no value" : " requires " + known->wants) +
                  (has_value ? ", not '" + value + "'" : "");
        return ParseResult::kError;
      }
    }
    return ParseResult::kRun;
  }

  [[nodiscard]] std::string help() const {
    std::size_t column = 0;
    for (const Option& option : options_) column = std::max(column, heading(option).size() + 2);
    column = std::min(column, kMostColumn);
    std::string text;
    for (const Option& option : options_) {
      std::string line = heading(option);
      line.resize(std::max(line.size() + 1, column), ' ');
      text += line;
      for (const char each : option.help) text += each == '\n' ? '\n' + std::string(column, ' ') : std::string(1, each);
      text += '\n';
    }
    return text;
  }

 private:
  struct Option {
    std::string name, argument, help, wants;
    Parser parse;
  };
  static constexpr std::size_t kMostColumn = 25;

  static std::string heading(const Option& option) {
    return "  " + option.name + (option.argument.empty() ? "" : " " + option.argument);
  }

  std::vector<Option> options_;
};

// Parses a whole number from `least` to 10^9. Returns false if the text is not such a number.
[[nodiscard]] inline bool parse_int(const std::string& text, int least, int& value) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || number < least || number > 1000000000) return false;
  value = static_cast<int>(number);
  return true;
}

// Splits the text at commas.
[[nodiscard]] inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t comma = text.find(',', from);
    parts.push_back(text.substr(from, comma - from));
    if (comma == std::string::npos) return parts;
    from = comma + 1;
  }
}

}  // namespace command_line
