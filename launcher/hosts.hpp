// Names of hosts, of which this version needs one: the machine it runs on.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::launcher {

// localhost, the host's name (short or full), an address of its interfaces.
bool is_this_host(std::string_view name);

// "localhost:4,n1": each must be this machine. Adds up the slots that are given; 0 when none are. `word` is the option
// that the list belongs to, for the message.
Status read_host_list(const std::string& word, std::string_view list, int* slots);

// A file with a host a line: "n1", "n1:4", "n1 slots=4 max_slots=8"; '#' begins a comment.
Status read_host_file(const std::string& word, const std::string& path, int* slots);

}  // namespace hr::launcher
