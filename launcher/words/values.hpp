// Parses values of options. Each error names the given text and the possible values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::launcher {

inline constexpr int kMostRanks = 65536;

// One option as given on the command line.
struct ParsedOption {
  std::string word;
  std::vector<std::string> values;
  [[nodiscard]] const std::string& value() const { return values.front(); }
  [[nodiscard]] std::string text() const;  // "-n 4"
};

// True if the strings are equal, ignoring case.
bool alike(std::string_view one, std::string_view two);

// False if the text is not an integer from 1 to kMostRanks.
bool read_number(std::string_view text, int* value);

// Splits "a,b" into a and b; empty parts are omitted.
std::vector<std::string> split(std::string_view text, char sign);

// Reads an integer from 1 to kMostRanks. `what` names the quantity in the error message, such as "the number of ranks".
Status read_count(const ParsedOption& given, const char* what, int* value);

// Reads a positive number of seconds. `where`: the text's origin, for the message.
Status read_seconds(const std::string& where, const std::string& text, double* seconds);

}  // namespace hr::launcher
