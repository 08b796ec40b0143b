// Residency of the pages of managed memory: the driver moves them to the side that touches them, and unmaps them from
// the CPU while a device has them. The system's page table of this process tells (/proc/self/pagemap, opened once and
// for as long as the process lives); reading it moves nothing. Threads: library lock.
#pragma once

namespace hr::mem {

// True if the page is mapped for the CPU: the host touched it last, or may read it where it is. True, too, if the
// system does not tell.
[[nodiscard]] bool mapped_for_host(const void* address) noexcept;

}  // namespace hr::mem
