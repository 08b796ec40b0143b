// Finds the known word that a mistyped one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hr::launcher {

// Returns an empty string if no word is close enough (at most two letters too many, too few, or different; case does
// not matter).
std::string nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace hr::launcher
