// PosixFile: a file descriptor and its operations. Each operation continues if the system executes only part of it or
// interrupts it. Errors of the system are translated to error classes of the standard.
//
// Owner: shared by a File and its pending operations. Threads: any, for data; open() and close() are called by one
// thread.
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

  // Opens the file with flags and permissions as for open(2).
  Status open(const std::string& path, int flags, unsigned permissions);
  // Makes read() and write() ignore offsets if the file has none (a pipe, a terminal, a socket), so that data is moved
  // in call order, for MPI_MODE_SEQUENTIAL. Without this, such files cannot be read or written.
  void note_stream() noexcept;
  Status close();

  // *done: number of bytes moved, even if there is an error. If it is less than `bytes` without an error, the file ends
  // there.
  Status read(Count offset, std::byte* to, std::size_t bytes, std::size_t* done) const;
  Status write(Count offset, const std::byte* from, std::size_t bytes, std::size_t* done) const;

  Status size(Count* bytes) const;
  Status resize(Count bytes) const;
  // Reserves space for the first `bytes` bytes; the file is then at least that long.
  Status reserve(Count bytes) const;
  // Makes writes durable.
  Status sync() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  int descriptor_ = -1;
  bool stream_ = false;
  std::string path_;
};

// Returns the error of a system call. `what`: the action on the file for which the call was made.
[[gnu::cold]] Status system_error(int code, const char* what, const std::string& path);

// MPI_File_delete.
Status unlink(const std::string& path);

}  // namespace hr::io
