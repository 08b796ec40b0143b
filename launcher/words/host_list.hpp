// Lists of hosts, as named by options and files. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::launcher {

struct HostSlots {
  std::string name;
  int slots = 1;             // number of ranks placed on the host before the next host's turn
  bool slots_given = false;  // slots were given as a number, not just by naming the host
};

// True for localhost, the host's name (short or full), or an address of one of its interfaces.
bool is_this_host(std::string_view name);
std::string own_host_name();

// Accepts a name of at most 255 letters, digits and "._-:@%" that begins with a letter, a digit or ':'. ssh can read
// such a name only as a host, and a shell only as a word. `where`: the name's origin, for the message.
Status check_host_name(const std::string& where, std::string_view name);

// Adds a host; if it is in the list already, adds its slots there.
void add_host(std::vector<HostSlots>* hosts, HostSlots more);

// Reads "localhost:4,n1". `word`: the option to which the list belongs, for the message.
Status read_host_list(const std::string& word, std::string_view list, std::vector<HostSlots>* hosts);

// Reads a file with one host per line: "n1", "n1:4", "n1 slots=4 max_slots=8"; '#' begins a comment.
Status read_host_file(const std::string& word, const std::string& path, std::vector<HostSlots>* hosts);

}  // namespace hr::launcher
