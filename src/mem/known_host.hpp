// Identifies addresses that are certainly host memory, so that the driver need not be queried: the heap that grows from
// the end of the program (brk), the heaps of threads, the calling thread's stack, and the program's own data. No driver
// ever places memory there; memory that a program registers there stays host memory. Other addresses, in particular
// mapped memory, may be of any kind. Only values that cannot change are cached; the heap's end is read every time.
// Threads: any.
#pragma once

namespace hr::mem {

[[nodiscard]] bool known_host(const void* address) noexcept;

// Called for an address that is host memory, but not known_host(). Checks occasionally that it is in a heap from which
// glibc serves threads, and keeps that heap for good, so that all of it is known_host() from then on.
void learn_host(const void* address) noexcept;

}  // namespace hr::mem
