// The page of counters becomes one that other processes can read: shared memory takes the place of the library's own.
//
// It is a memory file by the name of headrace.<job>.counters.<rank>, which others find at /proc/<process>/fd and which
// goes with the last process that has it open: nothing is ever left behind. Only the same user may read it. Owner:
// process-wide, once a process. Threads: library lock.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::counters {

// What a reader is told of this process, and what the places of tables stand for.
struct About {
  std::string job;
  int rank = 0;
  int size = 1;
  int host_number = 0;                     // in the job
  std::string library;                     // its version
  std::span<const char* const> functions;  // number 0: none
  std::vector<std::string_view> protocols;
  std::vector<std::string_view> algorithms;
  std::vector<std::string_view> operations;  // collective ones
};

// *file: stays open, as it is how others find it. Errors: MPI_ERR_OTHER, with the cause: counting goes on unseen.
Status publish(const About& about, int* file);
// It has called MPI_Finalize; what is counted later is seen all the same.
void note_finalized() noexcept;

// The text that describes the page (docs/counters.md); JSON.
[[nodiscard]] std::string describe(const About& about);

}  // namespace hr::counters
