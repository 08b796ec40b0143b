// Checks that cost time, or reject calls that other libraries accept; the user selects them with the knob `check`.
//
// Threads: any; the knob does not change while the library is in use.
#pragma once

#include <string>
#include <string_view>

namespace hr {

// True if the knob, a comma-separated list of words, contains this word, or `full`, which means all of them.
[[nodiscard]] bool wants_check(std::string_view word) noexcept;

// True if the knob contains `full`, so that every call is checked (check/).
[[nodiscard]] bool wants_full_check() noexcept;

// Returns the first unknown word of the knob; empty if there is none.
[[nodiscard]] std::string unknown_check();

}  // namespace hr
