// What the processes of one job share: the bytes in use on every device, and which exported memory is open where.
//
// A job is named by FAKE_CUDA_SHARED, else by the launcher that started the ranks (PMI_RANK is set: the parent
// process); a process that has neither is a job of its own. The table lives in a memory file that the processes find
// in each other's /proc/<pid>/fd: it ends with the last of them, however they end, and has no name in any file system.
//
// Owner: process-wide, joined by cuInit, never left but by the end of the process, which the others see by its lock on
// one byte of the file. Threads: `state().mutex` is held around every call. Devices are physical numbers.
#pragma once

#include <cstdint>

namespace fake_cuda::job {

// Joins the job's table; false when that is not possible (said on standard error).
bool join();

// Tells tables apart: an export of another job's process cannot be opened.
std::uint64_t identity();

// Bytes in use on a device by all processes, and by exported memory that was freed but is still open somewhere.
std::uint64_t used(int device);
// Counts bytes for this process; false when the device would hold more than `limit`.
[[nodiscard]] bool reserve(int device, std::uint64_t bytes, std::uint64_t limit);
void release(int device, std::uint64_t bytes);

// An exported allocation: its place in the table and a number that no other export ever has.
struct Export {
  std::int32_t place = -1;
  std::uint32_t serial = 0;
};
// By the exporter; place -1 when the table is full.
Export publish(int device, std::uint64_t bytes);
// By the exporter when the memory is freed: true when no process has it open, else its bytes stay counted and
// abandoned() tells when that ends.
[[nodiscard]] bool retire(Export which);
[[nodiscard]] bool abandoned(Export which);
// By another process, which has it open or not, however often it maps it; false when the memory has been freed.
[[nodiscard]] bool open(Export which);
void close(Export which);

}  // namespace fake_cuda::job
