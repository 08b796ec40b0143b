// PosixFile: a descriptor and its operations, each one complete: if the system does only a part or interrupts it, the
// operation goes on. Errors of the system become error classes of the standard here.
//
// Owner: shared by a File and the operations under way on it. Threads: any, for data; open and close by one.
#pragma once

#include <cstddef>
#include <string>

#include "base/count.hpp"
#include "base/status.hpp"

namespace hr::io {

class PosixFile {
 public:
  PosixFile() = default;
  ~PosixFile();
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  // Flags and permissions of open(2).
  Status open(const std::string& path, int flags, unsigned permissions);
  // Ignores offsets in files that have none (a pipe, a terminal, a socket), whose data comes in the order of the calls:
  // MPI_MODE_SEQUENTIAL. Otherwise such files cannot be read or written.
  void note_stream() noexcept;
  Status close();

  // *done: bytes moved, also with an error. Fewer than wanted without an error: the file ends there.
  Status read(Count offset, std::byte* to, std::size_t bytes, std::size_t* done) const;
  Status write(Count offset, const std::byte* from, std::size_t bytes, std::size_t* done) const;

  Status size(Count* bytes) const;
  Status resize(Count bytes) const;
  // Reserves space for the first `bytes`; the file is at least so long then.
  Status reserve(Count bytes) const;
  // Makes writes durable.
  Status sync() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  int descriptor_ = -1;
  bool stream_ = false;
  std::string path_;
};

// Returns the error of a system call: `what` was to be done with the file.
[[gnu::cold]] Status system_error(int code, const char* what, const std::string& path);

// MPI_File_delete.
Status unlink(const std::string& path);

}  // namespace hr::io
