// Parses lines "name = value # comment" of configuration files. Owner: views into the line. Threads: any.
#pragma once

#include <string_view>

namespace hr {

inline std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

struct SettingLine {
  std::string_view name;   // the whole line if it has no '='; empty if it has only a comment
  std::string_view value;  // trimmed
  bool has_value = false;  // true if there is an '='
};

inline SettingLine parse_setting_line(std::string_view line) noexcept {
  line = line.substr(0, line.find('#'));
  const auto equals = line.find('=');
  const bool has_value = equals != std::string_view::npos;
  return {trimmed(line.substr(0, equals)), has_value ? trimmed(line.substr(equals + 1)) : std::string_view(),
          has_value};
}

}  // namespace hr
