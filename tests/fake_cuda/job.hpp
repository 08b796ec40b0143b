// State shared by the processes of one job: the bytes in use on every device, and the processes that have exported
// memory open.
//
// FAKE_CUDA_SHARED names a job. Without it, the launcher that started the ranks identifies the job (the parent process,
// if PMI_RANK is set); a process with neither is a job of its own. The table is in a memory file that processes find in
// each other's /proc/<pid>/fd: it disappears with the last process, however they end, and has no name in a file system.
//
// Owner: process-wide, joined by cuInit, left only by the end of the process, which the others detect by its lock on
// one byte of the file. Threads: `state().mutex` is held around every call. Devices are given by their physical
// numbers.
#pragma once

#include <cstdint>

namespace fake_cuda::job {

// The maker whose driver this is: the drivers of different makers have separate tables, and cannot open each other's
// exports. Set before join(), by the fake HIP runtime.
enum class Maker : std::uint32_t { kCuda = 1, kHip = 2 };
Maker& maker();

// Joins the job's table; false if that fails (reported on standard error).
bool join();

// Returns a number that identifies the table: an export of another job's process cannot be opened.
std::uint64_t identity();

// Returns the bytes in use on a device by all processes, and by exported memory that was freed but is still open.
std::uint64_t used(int device);
// Counts bytes for this process; false if the device would then hold more than `limit`.
[[nodiscard]] bool reserve(int device, std::uint64_t bytes, std::uint64_t limit);
void release(int device, std::uint64_t bytes);

// Count a context of this process on a device. enter() is false if `alone` is set and another process has one.
[[nodiscard]] bool enter(int device, bool alone);
void leave(int device);

// An exported allocation: its index in the table, and a number that is never reused.
struct Export {
  std::int32_t place = -1;
  std::uint32_t serial = 0;
};
// Called by the exporter; place -1 if the table is full.
Export publish(int device, std::uint64_t bytes);
// Called by the exporter when the memory is freed: true if no process has it open, else its bytes stay counted until
// abandoned() returns true. `still_reserved`: the bytes stay reserved, and are not counted here as well.
[[nodiscard]] bool retire(Export which, bool still_reserved = false);
[[nodiscard]] bool abandoned(Export which);
// Called by another process when it opens or closes the export, once for any number of mappings. open() is false if the
// memory has been freed.
[[nodiscard]] bool open(Export which);
void close(Export which);

}  // namespace fake_cuda::job
