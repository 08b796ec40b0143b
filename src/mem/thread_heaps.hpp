// Heaps from which glibc serves threads other than the first (arenas), found when a program passes a buffer of one, and
// kept for the lifetime of the process: known_host() then knows all of it. With another allocator none is found.
// Threads: any.
#pragma once

#include <cstdint>

namespace hr::mem {

// Addresses [begin, end).
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool has(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
};

// Called for an address that is host memory, but not known_host(). Checks occasionally that it is in a heap from which
// glibc serves threads, and keeps that heap for good, so that all of it is known_host() from then on.
void learn_host(const void* address) noexcept;

// True if the address is in a heap that learn_host() has found.
[[nodiscard]] bool in_thread_heap(std::uintptr_t address) noexcept;

}  // namespace hr::mem
