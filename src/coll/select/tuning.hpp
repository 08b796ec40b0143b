// Tuning: reads the tuning file of a job, and distributes its rows to all processes.
//
// Process 0 reads the file in MPI_Init, and its rows become a setting of the job (boot.hpp), which every process has at
// the end of MPI_Init and decodes on its first collective. So processes cannot disagree, even if they would find
// different files. Without a file, this costs one failing open() in process 0. If a file cannot be used, process 0
// reports it once, and the job runs with the built-in rows. Threads: library lock.
#pragma once

#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "coll/select.hpp"

namespace hr::coll::tuning {

// The tuning file selected by the knob tuning_file.
struct File {
  std::string path;     // empty if no file is requested
  bool found = false;   // always true if the knob is a path
  std::string problem;  // reason why the file is not used; empty if it is used
  std::vector<SelectionRow> rows;
};
[[nodiscard]] File read();

// Returns the encoded rows, for boot::init() in process 0.
[[nodiscard]] std::string rows_for_job();
inline constexpr boot::Setting kSetting{"tuning", rows_for_job};

// Returns the rows of the job: none before MPI_Init, or without a file.
[[nodiscard]] std::vector<SelectionRow> job_rows();

// Encodes rows as one word of letters, digits and punctuation, and decodes them. Errors: MPI_ERR_OTHER for a string
// that encode() did not write.
[[nodiscard]] std::string encode(const std::vector<SelectionRow>& rows);
Status decode(std::string_view text, std::vector<SelectionRow>* rows);

}  // namespace hr::coll::tuning
