// Presence: tells whether a process that shares a file with this one is still alive.
//
// Each has a byte of the file locked (an open file description lock, fcntl(2)), which the system releases when the
// process ends, in whatever way, or closes the file. This works across pid namespaces; a forked child that has not yet
// called exec counts as the process. Threads: library lock.
#pragma once

namespace hr::transport::shm {

// `file`: a descriptor that this process has opened itself. Without effect on file systems without locks; then no
// process is found to be gone.
void show_presence(int file, int index) noexcept;
[[nodiscard]] bool is_present(int file, int index) noexcept;

}  // namespace hr::transport::shm
