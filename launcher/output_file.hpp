// The files of --output-filename: DIR/1/rank.N/stdout and stderr.
#pragma once

#include <string>
#include <string_view>

#include "descriptor.hpp"

namespace hr::launcher {

// One file that a stream of one rank is written to. A default one takes nothing.
class OutputFile {
 public:
  OutputFile() = default;
  // Makes the folders and the file. Returns 0, or the errno that says why not. `digits`: of the largest rank, so that
  // the folders sort.
  int open(const std::string& directory, int rank, int digits, const char* stream);

  // What cannot be written is told once; the job goes on.
  void write(std::string_view text);
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  Descriptor file_;
  bool lost_ = false;
};

}  // namespace hr::launcher
