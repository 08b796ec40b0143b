// Residency of the pages of managed memory. The driver moves a page to the side that accesses it, and unmaps it from
// the CPU while a device has it. Residency is read from the process's page table (/proc/self/pagemap, opened once and
// never closed), which moves nothing. Threads: library lock.
#pragma once

namespace hr::mem {

// True if the page is mapped for the CPU: the host accessed it last, or may read it in place. Also true if the system
// does not report it.
[[nodiscard]] bool mapped_for_host(const void* address) noexcept;

}  // namespace hr::mem
