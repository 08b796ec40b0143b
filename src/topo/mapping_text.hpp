// A Mapping as text, for those who place the ranks of other hosts. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topo/mapping.hpp"

namespace hr::topo {

std::string to_text(const Mapping& mapping);

// What to_text() made. Nothing else is taken: every number is checked, as the text comes from another process.
Status from_text(std::string_view text, Mapping* mapping);

}  // namespace hr::topo
