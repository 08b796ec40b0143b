// Files of --output-filename: DIR/1/rank.N/stdout and stderr.
#pragma once

#include <string>
#include <string_view>

#include "system/descriptor.hpp"

namespace hr::launcher {

// A file for one stream of one rank. A default-constructed one drops the text.
class OutputFile {
 public:
  OutputFile() = default;
  // Creates the directories and the file. Returns 0, or the errno of the failure. `digits`: number of digits of the
  // largest rank, so that the directories sort.
  int open(const std::string& directory, int rank, int digits, const char* stream);

  // Writes the text; a failure is reported once, and the job continues.
  void write(std::string_view text);
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  Descriptor file_;
  bool lost_ = false;
};

}  // namespace hr::launcher
