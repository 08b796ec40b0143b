// Log lines for people: "[headrace 3/8] text", one write a line, to standard error.
//
// The level comes from the knob `verbose` (0 errors only, 1 notes once, 2 decisions, 3 everything). note_once() prints
// a text at its first use in this process, at level 1.
#pragma once

namespace hr::log {

enum class Level : int { kError = 0, kNote = 1, kDecision = 2, kTrace = 3 };

// Sets the process that the lines name; once, at initialisation (rank -1: not known yet).
void set_identity(int rank, int size) noexcept;

[[nodiscard]] bool enabled(Level level) noexcept;
[[gnu::format(printf, 2, 3), gnu::cold]] void write(Level level, const char* format, ...) noexcept;
// `noted` is a static flag of the caller's; the line is printed if it was false.
[[gnu::format(printf, 2, 3), gnu::cold]] void note_once(bool& noted, const char* format, ...) noexcept;

}  // namespace hr::log
