// A Mapping as a string, for agents that place the ranks on other hosts. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topo/mapping.hpp"

namespace hr::topo {

std::string to_text(const Mapping& mapping);

// Parses a string that to_text() wrote, and rejects any other: every number is checked, as the string comes from
// another process.
Status from_text(std::string_view text, Mapping* mapping);

}  // namespace hr::topo
