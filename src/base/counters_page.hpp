// The page of counters becomes one that other processes can read: shared memory takes the place of the library's own.
//
// Where our mpiexec removes what a job leaves, it is the file <directory>/headrace.<job>.counters.<rank>, which stays
// until the job ends. Elsewhere it is a memory file of that name, which others find at /proc/<process>/fd and which
// goes with the process: nothing is ever left behind. Only the same user may read either. Owner: process-wide, once a
// process. Threads: library lock.
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
  std::string file_directory;              // empty: nobody would remove a file
  std::string library;                     // its version
  std::span<const char* const> functions;  // number 0: none
  std::vector<std::string_view> protocols;
  std::vector<std::string_view> algorithms;
};

// Errors: MPI_ERR_OTHER, with the cause: counting goes on unseen.
Status publish(const About& about);
// It has called MPI_Finalize; what is counted later is seen all the same.
void note_finalized() noexcept;

// The text that describes the page (docs/counters.md); JSON.
[[nodiscard]] std::string describe(const About& about);

}  // namespace hr::counters
