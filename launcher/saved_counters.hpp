// Saved counters: the pages of a job's ranks (docs/counters.md), kept in one file when the job is over (mpiexec
// --save-counters). Each host sends its ranks' when they have ended; python/headrace/counters/saved.py reads the
// file.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "descriptor.hpp"

namespace hr::launcher {

// Opens a page that a rank keeps, which lasts as long as it is open here; no file if it cannot be reached, or is not a
// page.
[[nodiscard]] Descriptor open_page(int pid, int file);
// Returns an empty text if there is none.
[[nodiscard]] std::string read_page(const Descriptor& page);

// File of mpiexec's. It exists complete, or not at all.
class SavedCounters {
 public:
  explicit SavedCounters(std::string path) : path_(std::move(path)) {}
  ~SavedCounters();
  SavedCounters(const SavedCounters&) = delete;
  SavedCounters& operator=(const SavedCounters&) = delete;

  // Called before the job starts. Returns, like end(), the error, or nothing.
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
