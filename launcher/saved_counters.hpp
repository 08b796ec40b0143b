// Saved counters: the pages of a job's ranks (docs/counters.md), kept in one file when the job is over (mpiexec
// --save-counters). Each host sends its ranks' before it removes them; python/headrace/counters/saved.py reads the
// file.
#pragma once

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace hr::launcher {

// Hands out each page that ranks of this job have left in the directories.
void for_each_page(const std::set<std::string>& directories, const std::string& job,
                   const std::function<void(std::string page)>& take);

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
