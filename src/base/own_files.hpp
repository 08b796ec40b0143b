// Rules for accepting files that this process reads, and files that processes of one user share.
//
// Directories such as /tmp and /dev/shm are open to every user of the machine, so a name in them proves nothing. An
// opened file is checked through its descriptor, not through its name. Plain functions; they own nothing and keep no
// state. Threads: any.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace hr {

// Accepts an open file as one of the library's: a regular file of this process's effective user, which no other user
// may open, with at most one name and a size of at least `least` bytes. Errors: MPI_ERR_OTHER with a sentence that
// names the file and a remedy.
Status check_own_file(int descriptor, const std::string& path, std::size_t least);

// Owner of a file or symbolic link: this process's effective user or another.
enum class Owner { kNobody, kThisUser, kAnotherUser };  // kNobody: there is no such name
[[nodiscard]] Owner owner_of(const std::string& path) noexcept;

enum class Pipes {
  kRefused,
  kGiven,  // a pipe that the command line names by its descriptor, such as a shell's <(...), is read to its end
};

// Reads a whole regular file of up to `most` bytes, /dev/null, or a pipe if `pipes` permits it. Any other FIFO, device
// or directory is an error, so that the function does not wait for a writer. Errors: MPI_ERR_NO_SUCH_FILE if there is
// no such file, else MPI_ERR_FILE; the detail is a clause whose subject is the file, e.g. "is a directory, not a file".
Status read_file(const std::string& path, std::size_t most, std::string* text, Pipes pipes = Pipes::kRefused);

// Size limit for configuration files and the like.
inline constexpr std::size_t kLargestTextFile = std::size_t{1} << 20;

}  // namespace hr
