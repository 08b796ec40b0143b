// A Mapping as text, for agents that place the ranks of other hosts. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topo/mapping.hpp"

namespace hr::topo {

std::string to_text(const Mapping& mapping);

// Reads a text that to_text() made, and rejects any other: every number is checked, as the text comes from another
// process.
Status from_text(std::string_view text, Mapping* mapping);

}  // namespace hr::topo
