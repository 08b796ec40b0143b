// Copies directly to memory, bypassing this core's caches: for data that another core will read next, and gets sooner
// from memory than from this core's caches (base/reader_distance.hpp decides when).
//
// A line written in the usual way is first fetched from its last reader's cache, and then the reader fetches it from
// the writer's. Non-temporal stores avoid both, which pays between two core complexes of an AMD processor, which share
// no cache; within a complex they cost time, as lines arrive sooner from the other core than from memory (ADR 14).
//
// Threads: any.
#pragma once

#include <cstddef>

namespace hr {

// Copies any length at any alignment; the ranges do not overlap. Memory order: that of a copy by plain stores, if a
// release store of the same thread follows (a fence here orders the non-temporal stores before it). On processors other
// than x86-64, a plain copy.
void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace hr
