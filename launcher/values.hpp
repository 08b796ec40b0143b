// Values of options, from text. Each error says what was given, and what it may be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "option_table.hpp"

namespace hr::launcher {

inline constexpr int kMostRanks = 65536;

// Whether they are the same but for the case of letters.
bool alike(std::string_view one, std::string_view two);

// False where the text is no whole number from 1 to kMostRanks.
bool read_number(std::string_view text, int* value);

// "a,b" -> a, b; empty parts are left out.
std::vector<std::string> split(std::string_view text, char sign);

// Such a number. `what` it counts, for the message.
Status read_count(const ParsedOption& given, const char* what, int* value);

// Seconds, more than 0. `where` the text stands, for the message.
Status read_seconds(const std::string& where, const std::string& text, double* seconds);

Status read_binding(const ParsedOption& given, topo::Placing* placing);

// --map-by. *per_host: what ppr:N:node says. *by_host: whether ranks go round the hosts.
Status read_mapping(const ParsedOption& given, topo::Placing* placing, int* per_host, bool* by_host);

// "DIR", "DIR:nocopy".
Status read_output_directory(const ParsedOption& given, std::string text, Options* options);

}  // namespace hr::launcher
