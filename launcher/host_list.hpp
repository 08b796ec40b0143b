// Lists of hosts, as options and files name them. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::launcher {

struct HostSlots {
  std::string name;
  int slots = 1;            // ranks that it takes before the next host's turn
  bool slots_said = false;  // by a number, not by naming the host
};

// localhost, the host's name (short or full), an address of its interfaces.
bool is_this_host(std::string_view name);
std::string own_host_name();

// Letters, digits and "._-:@%" from a letter or digit on: what ssh can take for nothing but a host, and no shell for
// anything but a word. `where` it stands, for the message.
Status check_host_name(const std::string& where, std::string_view name);

// A host that is there already gets the slots on top.
void add_host(std::vector<HostSlots>* hosts, HostSlots more);

// "localhost:4,n1". `word` is the option that the list belongs to, for the message.
Status read_host_list(const std::string& word, std::string_view list, std::vector<HostSlots>* hosts);

// A file with a host a line: "n1", "n1:4", "n1 slots=4 max_slots=8"; '#' begins a comment.
Status read_host_file(const std::string& word, const std::string& path, std::vector<HostSlots>* hosts);

}  // namespace hr::launcher
