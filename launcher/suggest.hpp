// The known word that a mistyped one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hr::launcher {

// Empty where none is near enough to be meant (two letters too many, too few, or others; upper and lower case are one).
std::string nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace hr::launcher
