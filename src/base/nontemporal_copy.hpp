// Copies past this core's caches, straight to memory: for data that another core will read next, and gets sooner from
// memory than from this core's caches (base/reader_distance.hpp decides when).
//
// A line written the usual way is taken out of its last reader's cache first, and then the reader takes it out of the
// writer's. Non-temporal stores do neither, which pays between two complexes of an AMD processor, which share no
// cache, and costs within one, where lines come from the neighbour sooner than from memory (ADR 14).
//
// Threads: any.
#pragma once

#include <cstddef>

namespace hr {

// Copies any length at any alignment; the ranges do not overlap. Memory order: that of a copy by plain stores, if a
// release store of the same thread follows (non-temporal stores would not be ordered before that by themselves). On
// processors other than x86-64 a plain copy.
void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace hr
