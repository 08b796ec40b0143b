// Hints of windows (MPI 5.0 section 12.2.1 and those of its siblings). Internal to rma/.
#pragma once

#include <cstddef>

#include "rma/window.hpp"

namespace hr::rma {

// Returns mpi_minimum_memory_alignment: a power of two, at most a page's; 0: none.
[[nodiscard]] std::size_t alignment_hint(const Window& window) noexcept;
// Returns alloc_shared_noncontig.
[[nodiscard]] bool shares_apart(const Window& window) noexcept;

}  // namespace hr::rma
