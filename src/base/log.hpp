// Log lines for people: "[headrace 3/8] text", one write per line, to standard error.
//
// The level is the knob `verbose` (0: errors only, 1: also notes, 2: also decisions, 3: everything). note_once() prints
// a line only once per process, at level 1.
#pragma once

namespace hr::log {

enum class Level : int { kError = 0, kNote = 1, kDecision = 2, kTrace = 3 };

// Sets the process that the lines name. Called once, at initialisation (before, the rank is -1: not known yet).
void set_identity(int rank, int size) noexcept;

[[nodiscard]] bool enabled(Level level) noexcept;
[[gnu::format(printf, 2, 3), gnu::cold]] void write(Level level, const char* format, ...) noexcept;
// Prints the line if `noted`, a static flag of the caller, is false.
[[gnu::format(printf, 2, 3), gnu::cold]] void note_once(bool& noted, const char* format, ...) noexcept;

}  // namespace hr::log
