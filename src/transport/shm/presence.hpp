// Presence: shows whether a process that shares a file with this one is still alive.
//
// Each process locks a byte of the file (an open file description lock, fcntl(2)); the system releases the lock when
// the process closes the file, or ends for any reason. This works across pid namespaces; a forked child that has not
// yet called exec counts as the process. Threads: library lock.
#pragma once

namespace hr::transport::shm {

// `file`: a descriptor that this process has opened itself. Has no effect on file systems without locks; there, the end
// of a process is never detected.
void show_presence(int file, int index) noexcept;
[[nodiscard]] bool is_present(int file, int index) noexcept;

}  // namespace hr::transport::shm
