// Saved counters: the pages of a job's ranks (docs/counters.md), kept in one file when the job is over (mpiexec
// --save-counters). Each host sends the pages of its ranks when they have ended; python/headrace/counters/saved.py
// reads the file.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "system/descriptor.hpp"

namespace hr::launcher {

// Opens a rank's page; the page exists as long as it is open here. Returns a closed descriptor if the page cannot be
// opened, or if the file is not a page.
[[nodiscard]] Descriptor open_page(int pid, int file);
// Returns the contents of a page; empty if there is none.
[[nodiscard]] std::string read_page(const Descriptor& page);

// The file that mpiexec writes. It exists complete, or not at all.
class SavedCounters {
 public:
  explicit SavedCounters(std::string path) : path_(std::move(path)) {}
  ~SavedCounters();
  SavedCounters(const SavedCounters&) = delete;
  SavedCounters& operator=(const SavedCounters&) = delete;

  // Called before the job starts. Returns the error, like end(); empty if there is none.
  [[nodiscard]] std::string begin();
  void add(std::string_view page);
  [[nodiscard]] std::string end();

 private:
  [[nodiscard]] std::string problem() const;

  std::string path_;
  std::string unfinished_;  // name of the file until it is complete; empty if there is none
  std::ofstream file_;
};

}  // namespace hr::launcher
