// What a benchmark found, as the table a person reads and as the JSON a runner reads. Rank 0 only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/options.hpp"
#include "common/statistics.hpp"

namespace bench {

struct Row {
  std::string label;  // what was measured, where the size does not say it; "" otherwise
  std::size_t bytes;
  int iterations;
  Statistics value;
  std::vector<std::pair<std::string, double>> more;  // other figures of the same run, e.g. {"bus GB/s", 310.5}
  std::string note = {};                             // how it was done, where there was a choice
};

struct Report {
  std::string name, unit, library;  // library: the first line of MPI_Get_library_version
  int ranks = 0, window = 0;        // window 0: the program has none
  bool less_is_better = true;
  std::string memory[2];
  bool validated = false;
  std::vector<std::pair<std::string, std::string>> settings;  // of this program: {"op", "allreduce"}
  std::vector<std::string> cpus;                              // per rank: the cores it may run on, "0" or "0-1,4"
  std::vector<Row> rows;
};

// Rows are printed as they are found. Every row of a report has a label or none has, and the same names in `more`.
void print_heading(const Report& report);
void print_row(const Row& row, bool first);
// False when the file cannot be written.
[[nodiscard]] bool write_json(const Report& report, const std::string& file);

}  // namespace bench
