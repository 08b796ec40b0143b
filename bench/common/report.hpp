// Results of a benchmark, as a table for people and as JSON for a runner. Rank 0 only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/options.hpp"
#include "common/statistics.hpp"

namespace bench {

struct Row {
  std::string label;  // names the measurement if the size does not; otherwise ""
  std::size_t bytes;
  int iterations;
  Statistics value;
  std::vector<std::pair<std::string, double>> more;  // other figures of the same run, e.g. {"bus GB/s", 310.5}
  std::string note = {};                             // the method, if there is a choice
};

struct Report {
  std::string name, unit, library;  // library: the first line of MPI_Get_library_version
  int ranks = 0, window = 0;        // window 0: the program has none
  bool less_is_better = true;
  std::string memory[2];
  bool validated = false;
  std::vector<std::pair<std::string, std::string>> settings;  // settings specific to this program, e.g. {"op",
                                                              // "allreduce"}
  std::vector<std::string> cpus;                              // per rank: the cores it may run on, "0" or "0-1,4"
  std::vector<Row> rows;
};

// Rows are printed as they are measured. Either all rows of a report have a label or none has; `more` has the same
// names in all rows.
void print_heading(const Report& report);
void print_row(const Row& row, bool first);
// Returns false if the file cannot be written.
[[nodiscard]] bool write_json(const Report& report, const std::string& file);

}  // namespace bench
