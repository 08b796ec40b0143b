// SharedFile: a file that processes on one node map to share memory.
//
// Its users determine when all have opened it; unlink() then removes its name, so that it does not remain when
// processes die (before that, the launcher removes files that carry its job's name). The memory lives until the last
// mapping is removed. Fresh memory is zero. Owner: the holder of the object; the destructor unmaps. Threads: library
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"

namespace hr {

// Returns the maximum size of a file that this process may write (`ulimit -f`). Beyond it, the system kills the process
// with a signal.
[[nodiscard]] std::size_t largest_file() noexcept;

// Backs a part of a file with memory, as posix_fallocate() does, and tries again after signals. Returns a value of
// errno; 0: success.
[[nodiscard]] int allocate(int file, std::size_t offset, std::size_t bytes) noexcept;

class SharedFile {
 public:
  // Permitted place of a file without a name. kAnywhere: if the directory has no space for all its bytes, or this
  // process cannot create files there, the file is in no directory (memfd_create()), where only the system's memory
  // limits it. Not for as many bytes as a program asks for: the system ends processes if its memory is used up.
  enum class Room { kDirectory, kAnywhere };

  // `remedy`: advice for the error message, besides freeing space; a clause, e.g. "make rings smaller with ...".
  explicit SharedFile(const char* remedy) noexcept : remedy_(remedy) {}
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();

  // Creates a file of `bytes` bytes, backs the first `reserved` with memory, and maps it. Errors of all
  // variants: MPI_ERR_OTHER that names the file, the requested size, the cause and the remedies; nothing remains.
  Status create(const std::string& path, std::size_t bytes, std::size_t reserved);
  // Creates and maps a file without a name in the directory, so that nothing remains however this process ends. While
  // the file is open, others attach() to it by the name of its descriptor. The file does get a name if the directory's
  // file system requires one, or if others might not have access through the descriptor.
  Status create_hidden(const std::string& path, std::size_t bytes, std::size_t reserved, Room room = Room::kDirectory);
  // Sets whether files need names because the processes that share them do not see each other under their pids. Applies
  // to files created from now on.
  static void need_names(bool need) noexcept;
  // Creates or maps a file that processes share by agreeing only on its name. Each of them calls this: the first
  // creates the file, which gets its name once it contains the data that `begin` writes; the others map it, in its
  // actual length. A file of that name that belongs to another user, or that others may open, is rejected
  // (own_files.hpp), here and by attach().
  Status create_or_attach(const std::string& path, std::size_t bytes, std::size_t reserved,
                          const std::function<void(std::byte*)>& begin);
  // Maps a file that another process has created.
  Status attach(const std::string& path, std::size_t bytes);
  // Returns the name that others pass to attach(). For a hidden file, this is name_of() the creating process and its
  // descriptor().
  [[nodiscard]] std::string name() const;
  [[nodiscard]] static std::string name_of(std::int64_t process, int descriptor);
  [[nodiscard]] bool hidden() const noexcept { return hidden_; }
  // True if the file is in no directory, and so can have no name.
  [[nodiscard]] bool in_no_directory() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return file_; }
  // Gives a hidden file the name that create_hidden() was called with. A file that can have no name keeps its
  // descriptor, and others can attach while this process lives.
  Status give_name();
  // Backs a range with memory, so that a lack of memory is an error now and not a bus error later.
  Status reserve(std::size_t offset, std::size_t bytes);
  // Removes the name.
  void unlink() noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Returns null before create(), one of its variants or attach() has succeeded.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  Status open(const std::string& path, int flags, const char* what, std::size_t bytes);
  int open_hidden(const std::string& path, std::size_t bytes, Room room);
  Status fill(std::size_t reserved);
  Status map();
  Status map_all(std::size_t least);
  Status create_apart(std::size_t reserved);
  int name_apart();
  void let_go() noexcept;
  Status error(const char* what, std::size_t wanted, int code) const;

  const char* remedy_;
  std::string path_;
  bool hidden_ = false;
  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hr
