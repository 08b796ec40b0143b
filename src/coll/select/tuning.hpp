// Tuning: reads the tuning file of a job, and gives its rows to all processes.
//
// Process 0 reads the file in MPI_Init, and its rows are a setting of the job (boot.hpp), which every process has when
// MPI_Init is over and decodes at its first collective. So no two processes can disagree, whatever files they would
// have found. Without a file all of this costs one failing open() in process 0. A file that cannot be used is named
// once, by process 0, and the job runs with the built-in rows. Threads: library lock.
#pragma once

#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "coll/select.hpp"

namespace hr::coll::tuning {

// File that the knob tuning_file leads to.
struct File {
  std::string path;     // empty: none is asked for
  bool found = false;   // always when the knob names a path
  std::string problem;  // why it is not used; empty: it is
  std::vector<SelectionRow> rows;
};
[[nodiscard]] File read();

// Returns the encoded rows; in process 0, for boot::init().
[[nodiscard]] std::string rows_for_job();
inline constexpr boot::Setting kSetting{"tuning", rows_for_job};

// Returns the rows of the job: none before MPI_Init, or without a file.
[[nodiscard]] std::vector<SelectionRow> job_rows();

// Rows as one word of letters, digits and punctuation, and back. Errors: MPI_ERR_OTHER for what encode() did not write.
[[nodiscard]] std::string encode(const std::vector<SelectionRow>& rows);
Status decode(std::string_view text, std::vector<SelectionRow>* rows);

}  // namespace hr::coll::tuning
