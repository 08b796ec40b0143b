// Makes the page of counters readable by other processes: shared memory replaces the static memory.
//
// It is a memory file named headrace.<job>.counters.<rank>, which others find in /proc/<process>/fd and which
// disappears with the last process that has it open: nothing ever remains. Only the same user may read it. Owner:
// process-wide, created once. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.hpp"
#include "base/status.hpp"

namespace hr::counters {

// Names of communication buffers, in the order of Buffers.
inline constexpr std::string_view kBufferNames[kBuffers] = {"shm", "collectives", "tcp",   "ucx",
                                                            "ofi", "pinned",      "device"};

// Data about this process for readers, and names for the indices of tables.
struct About {
  std::string job;
  int rank = 0;
  int size = 1;
  int host_number = 0;                     // number of the host in the job
  std::string library;                     // version of the library
  std::span<const char* const> functions;  // number 0: none
  std::vector<std::string_view> protocols;
  std::vector<std::string_view> algorithms;
  std::vector<std::string_view> operations;  // names of collective operations
  std::span<const std::uint16_t>
      places;  // numbers of the functions that channels execute, in the order of their places
};

// Publishes the page. *file: must stay open, as others find the page through it. Errors: MPI_ERR_OTHER, with the cause;
// counting continues but is not visible.
Status publish(const About& about, int* file);
// Makes this part (counter_parts.hpp), and those before it, readable by other processes. False if there is no memory
// for it.
bool show_part(std::size_t index) noexcept;
// Records that MPI_Finalize has been called; later counts are still visible.
void note_finalized() noexcept;

// Returns the text that describes the page (docs/counters.md); JSON.
[[nodiscard]] std::string describe(const About& about);

}  // namespace hr::counters
