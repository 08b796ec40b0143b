// Identifies addresses that are certainly host memory, so that the driver need not be queried: the heap that grows from
// the end of the program (brk), the heaps of threads, the calling thread's stack, and the program's own data. No driver
// ever places memory there; memory that a program registers there stays host memory. Other addresses, in particular
// mapped memory, may be of any kind. Only values that cannot change are cached; the heap's end is read every time.
// Threads: any.
#pragma once

namespace hr::mem {

[[nodiscard]] bool known_host(const void* address) noexcept;

}  // namespace hr::mem
