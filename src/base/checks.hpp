// Checks that cost time, or refuse calls that other libraries accept, as selected by the user with the knob `check`.
//
// Threads: any; the knob does not change while the library is in use.
#pragma once

#include <string>
#include <string_view>

namespace hr {

// True if the knob, words between commas, has this word, or `full`, which stands for all.
[[nodiscard]] bool wants_check(std::string_view word) noexcept;

// True if it has `full`: every call is looked at (check/).
[[nodiscard]] bool wants_full_check() noexcept;

// Returns the first unknown word of the knob; empty if there is none.
[[nodiscard]] std::string unknown_check();

}  // namespace hr
