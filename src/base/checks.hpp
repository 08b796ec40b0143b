// Checks: which of the checks that cost time, or refuse what others let pass, the user asked for with the knob `check`.
//
// Threads: any; the knob does not change while the library is in use.
#pragma once

#include <string>
#include <string_view>

namespace hr {

// Whether the knob, words between commas, has this word, or `full`, which is all of them.
[[nodiscard]] bool asked_to_check(std::string_view word) noexcept;

// Whether it has `full`: every call is looked at (check/).
[[nodiscard]] bool asked_for_full_check() noexcept;

// The first word of the knob that is none; empty when there is none.
[[nodiscard]] std::string unknown_check();

}  // namespace hr
