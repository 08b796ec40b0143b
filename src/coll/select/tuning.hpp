// Tuning: the tuning file of a job, and how all of its processes come to use the same rows.
//
// Process 0 reads the file in MPI_Init and puts its rows into the boot layer's key-value space, before the exchange
// that MPI_Init has anyway; the others take them from there at their first collective. So no two processes can
// disagree, whatever files they would have found. That there is none is told to the processes of its node with the
// words they are told anyway (boot.hpp): without a file all of this costs one failing open() in process 0. A file that
// cannot be used is named once, by process 0, and the job runs with the built-in rows. Owner: process-wide. Threads:
// library lock.
#pragma once

#include <string>
#include <vector>

#include "coll/select.hpp"

namespace hr::coll::tuning {

// What the knob tuning_file leads to.
struct File {
  std::string path;     // empty: none is asked for
  bool found = false;   // always when the knob names a path
  std::string problem;  // why it is not used; empty: it is
  std::vector<SelectionRow> rows;
};
[[nodiscard]] File read();

// From init(), after the boot layer's and before its next fence.
void share();

// The rows of the job: before MPI_Init, and where there is no file, none.
[[nodiscard]] std::vector<SelectionRow> job_rows();

// Rows as one word of letters, digits and punctuation, and back. Errors: MPI_ERR_OTHER for what encode() did not write.
[[nodiscard]] std::string encode(const std::vector<SelectionRow>& rows);
Status decode(std::string_view text, std::vector<SelectionRow>* rows);

}  // namespace hr::coll::tuning
