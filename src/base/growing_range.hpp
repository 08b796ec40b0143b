// Address space for an Arena (object.hpp): a range with a fixed start that grows at its end.
//
// If address space costs nothing, the whole range is reserved at once. If it is limited (`ulimit -v`, a machine that
// does not overcommit), pieces are mapped one after another, at addresses that are not in use. Owner: the arena; a
// range is never released. Threads: library lock.
#pragma once

#include <cstddef>

namespace hr::growing_range {

// Creates a range of up to `most` bytes and stores its address in *base. Returns the bytes usable so far; 0: no address
// space is available.
[[gnu::cold]] std::size_t begin(std::byte** base, std::size_t most) noexcept;

// Extends the range. Returns the bytes usable from now on, which is `usable` if it cannot grow.
[[gnu::cold]] std::size_t grow(std::byte* base, std::size_t usable, std::size_t most) noexcept;

}  // namespace hr::growing_range
