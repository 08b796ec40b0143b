// Addresses that are host memory for certain, so that the CUDA driver need not be asked: the heap that grows from the
// end of the program (brk), the calling thread's stack, and the program's own data. No driver ever places memory there;
// memory that a program registers there stays host memory. Everything else, mapped memory above all, is not known.
// Nothing is cached that could change: the heap's end is read every time.
// Threads: any.
#pragma once

namespace hr::mem {

[[nodiscard]] bool known_host(const void* address) noexcept;

}  // namespace hr::mem
