// Hints for windows (MPI 5.0 section 12.2.1, and the sections on other kinds of windows). Internal to rma/.
#pragma once

#include <cstddef>

#include "rma/window.hpp"

namespace hr::rma {

// Returns mpi_minimum_memory_alignment: a power of two, at most the page size; 0 if not set.
[[nodiscard]] std::size_t alignment_hint(const Window& window) noexcept;
// Returns alloc_shared_noncontig.
[[nodiscard]] bool shares_apart(const Window& window) noexcept;

}  // namespace hr::rma
