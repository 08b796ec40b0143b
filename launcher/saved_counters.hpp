// Saved counters: the pages of a job's ranks (docs/counters.md), kept in one file when the job is over (mpiexec
// --save-counters). Each host sends its ranks' when they have ended; python/headrace/counters/saved.py reads the
// file.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "descriptor.hpp"

namespace hr::launcher {

// A page that a rank keeps, which lasts as long as it is open here; no file where it cannot be reached, or is none.
[[nodiscard]] Descriptor open_page(int pid, int file);
// Empty where there is none.
[[nodiscard]] std::string read_page(const Descriptor& page);

// mpiexec's. The file is there whole, or not at all.
class SavedCounters {
 public:
  explicit SavedCounters(std::string path) : path_(std::move(path)) {}
  ~SavedCounters();
  SavedCounters(const SavedCounters&) = delete;
  SavedCounters& operator=(const SavedCounters&) = delete;

  // Before the job starts; also the others: what went wrong, or nothing.
  [[nodiscard]] std::string begin();
  void add(std::string_view page);
  [[nodiscard]] std::string end();

 private:
  [[nodiscard]] std::string problem() const;

  std::string path_;
  std::string unfinished_;  // the file's name so far; empty: there is none
  std::ofstream file_;
};

}  // namespace hr::launcher
