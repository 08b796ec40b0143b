// Presence: whether a process that shares a file with this one still lives.
//
// Each has a byte of the file locked (an open file description lock, fcntl(2)), which the system lifts when the process
// ends, however that happens, or closes the file. It holds across pid namespaces; a child of the process that was
// forked and is no other program yet counts as the process. Threads: library lock.
#pragma once

namespace hr::transport::shm {

// `file`: a descriptor that this process has opened itself. Without effect where the file system has no locks; then
// nobody is found to be gone.
void show_presence(int file, int index) noexcept;
[[nodiscard]] bool is_present(int file, int index) noexcept;

}  // namespace hr::transport::shm
