// Values of options, from text. Each error names the given text, and the possible values.
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

// True if they are equal, ignoring case.
bool alike(std::string_view one, std::string_view two);

// Returns false if the text is not a whole number from 1 to kMostRanks.
bool read_number(std::string_view text, int* value);

// Splits "a,b" into a and b; empty parts are left out.
std::vector<std::string> split(std::string_view text, char sign);

// Reads a whole number from 1 to kMostRanks. `what`: the counted thing, for the message.
Status read_count(const ParsedOption& given, const char* what, int* value);

// Reads seconds, more than 0. `where`: the text's origin, for the message.
Status read_seconds(const std::string& where, const std::string& text, double* seconds);

}  // namespace hr::launcher
